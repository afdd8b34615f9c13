import Type from 'typebox';
import { readActionIndex } from '../read/subject.ts';
import { type RecordMethod, unknown } from './record.ts';

/** Most bytes of a file: more fit into no transaction of the chains that are known. */
const MOST_BYTES = 4 * 2 ** 20;
const FILE = `SELECT i.hash, m.type, EXISTS (SELECT 1 FROM gated_files g WHERE g.action_index = f.action_index) AS gated
  FROM files f JOIN actions a ON a.action_index = f.action_index JOIN transactions x ON x.tx_index = a.tx_index
  JOIN index_transactions i ON i.id = x.tx_hash_id LEFT JOIN index_mime_types m ON m.id = f.type_id
  WHERE f.action_index = ? LIMIT 1`;
const BYTES = `SELECT TO_BASE64(IF(LENGTH(t.raw_data) <= ${MOST_BYTES}, t.raw_data, NULL)) AS bytes
  FROM transactions t JOIN index_transactions i ON i.id = t.tx_hash_id WHERE i.hash = ? LIMIT 1`;

/** Reads the bytes that a FILE carries, as they stand on the chain. A route of its own sends them. */
export const fileBytes: RecordMethod = {
  summary: 'Reads the bytes of a file',
  tag: 'Actions',
  takes: 'action index',
  paths: [],
  schema: Type.Object({
    type: Type.Union([Type.String(), Type.Null()]),
    isGated: Type.Boolean(),
    bytes: Type.String()
  }),
  read: async ({ query, question: { query: name = '' }, databases: { decoder } }) => {
    const [file] = await query<{ hash: string; type: string | null; gated: number }>(FILE, [readActionIndex(name)]);
    if (!file) return unknown('file', name);
    const [found] = await decoder((ask) => ask<{ bytes: string | null }>(BYTES, [file.hash]));
    if (found?.bytes == null) return unknown('content of file', name);
    return { type: file.type, isGated: Number(file.gated) === 1, bytes: found.bytes };
  }
};
