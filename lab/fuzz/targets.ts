import type { Target } from './support/target.ts';
import { actions } from './targets/actions.ts';
import { configuration } from './targets/configuration.ts';
import { cost } from './targets/cost.ts';
import { createTable } from './targets/create-table.ts';
import { dispenserTexts } from './targets/dispenser-texts.ts';
import { encoderCalls } from './targets/encoder-calls.ts';
import { heartbeatBodies } from './targets/heartbeat-bodies.ts';
import { httpBytes } from './targets/http-bytes.ts';
import { httpHeaders } from './targets/http-headers.ts';
import { httpRequests } from './targets/http-requests.ts';
import { hubAnswers } from './targets/hub-answers.ts';
import { jsonRpcCalls } from './targets/json-rpc.ts';
import { nodeAnswers } from './targets/node-answers.ts';
import { payloads } from './targets/payloads.ts';
import { rawBlocks } from './targets/raw-blocks.ts';
import { rowSplitter } from './targets/row-splitter.ts';
import { rowValues } from './targets/row-values.ts';
import { snapshotBody } from './targets/snapshot-body.ts';
import { sourceAnswers } from './targets/source-answers.ts';
import { sourceMessages } from './targets/source-messages.ts';
import { stateFiles } from './targets/state-files.ts';
import { subscriberMessages } from './targets/subscriber-messages.ts';
import { typedSchema } from './targets/typed-schema.ts';

/** Everything that reads what others send. */
export const TARGETS: readonly Target[] = [
  createTable,
  typedSchema,
  rowSplitter,
  snapshotBody,
  rowValues,
  sourceMessages,
  sourceAnswers,
  subscriberMessages,
  heartbeatBodies,
  httpRequests,
  httpBytes,
  httpHeaders,
  hubAnswers,
  jsonRpcCalls,
  encoderCalls,
  nodeAnswers,
  payloads,
  actions,
  cost,
  dispenserTexts,
  rawBlocks,
  configuration,
  stateFiles
];
