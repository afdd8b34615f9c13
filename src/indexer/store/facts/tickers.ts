import { IdsByText } from '../../../consensus/ids-by-text.ts';
import { rows, type Statements } from '../../../db/connection.ts';
import { tickKey } from '../../state/keys.ts';

/** Tickers that one statement reads. */
const TICKERS_PER_STATEMENT = 20_000;

/** Reads the ids of the tickers of all tokens. @returns them by `tickKey` */
export async function readTickers(reader: Statements, perStatement = TICKERS_PER_STATEMENT): Promise<IdsByText> {
  const tickers = new IdsByText();
  let last = -1;
  for (;;) {
    const page = await rows<{ id: number; tick: string }>(
      reader,
      `SELECT i.id, i.tick FROM tokens t FORCE INDEX (tick_id) STRAIGHT_JOIN index_tickers i ON i.id = t.tick_id
       WHERE t.tick_id > ${last} ORDER BY t.tick_id LIMIT ${perStatement}`
    );
    for (const { id, tick } of page) tickers.set(tickKey(tick), Number(id));
    if (page.length < perStatement) return tickers;
    last = Number(page.at(-1)!.id);
  }
}
