import Type from 'typebox';
import { inflateFile, isDeflated } from '../../coin/action/file.ts';
import { OrNull } from '../../wire/or-null.ts';
import { readActionIndex } from '../read/subject.ts';
import { type RecordMethod, unknown } from './record.ts';

/** Most bytes of a file: more fit into no transaction of the chains that are known. */
const MOST_BYTES = 4 * 2 ** 20;
const FILE = `SELECT i.hash, m.type, EXISTS (SELECT 1 FROM gated_files g WHERE g.action_index = f.action_index) AS gated
  FROM files f JOIN actions a ON a.action_index = f.action_index JOIN transactions x ON x.tx_index = a.tx_index
  JOIN index_transactions i ON i.id = x.tx_hash_id LEFT JOIN index_mime_types m ON m.id = f.type_id
  WHERE f.action_index = ? LIMIT 1`;
const BYTES = `SELECT t.data, TO_BASE64(IF(LENGTH(t.raw_data) <= ${MOST_BYTES}, t.raw_data, NULL)) AS bytes
  FROM transactions t JOIN index_transactions i ON i.id = t.tx_hash_id WHERE i.hash = ? LIMIT 1`;

/** Reads the bytes of a FILE: inflated where its sender deflated them, else as they stand on the chain. A route of its own sends them. */
export const fileBytes: RecordMethod = {
  summary: 'Reads the bytes of a file',
  tag: 'Actions',
  takes: 'action index',
  paths: [],
  schema: Type.Object({
    type: OrNull(Type.String()),
    form: Type.Union([Type.Literal('whole'), Type.Literal('deflated'), Type.Literal('encrypted')], {
      description: 'deflated: the bytes are those of the chain, as they cannot be inflated'
    }),
    bytes: Type.String()
  }),
  read: async ({ query, question: { query: name = '' }, databases: { decoder } }) => {
    const [file] = await query<{ hash: string; type: string | null; gated: number }>(FILE, [readActionIndex(name)]);
    if (!file) return unknown('file', name);
    const [found] = await decoder((ask) => ask<{ data: string | null; bytes: string | null }>(BYTES, [file.hash]));
    if (found?.bytes == null) return unknown('content of file', name);
    const { type } = file;
    if (Number(file.gated) === 1) return { type, form: 'encrypted', bytes: found.bytes };
    if (!isDeflated(found.data ?? '')) return { type, form: 'whole', bytes: found.bytes };
    const inflated = await inflateFile(Buffer.from(found.bytes, 'base64'));
    if (inflated === null) return { type, form: 'deflated', bytes: found.bytes };
    return { type, form: 'whole', bytes: Buffer.from(inflated).toString('base64') };
  }
};
