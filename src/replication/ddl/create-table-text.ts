import { type Connection, quoteName, rows } from '../../db/connection.ts';
import { UNSEEN } from '../tables/classify.ts';
import type { SourceLayout } from '../tables/source-layout.ts';

/** Reads SHOW CREATE TABLE texts of the replicated tables, in the order in which they travel, without `AUTO_INCREMENT=n`. */
export async function readCreateTableTexts(
  connection: Connection,
  layout: SourceLayout
): Promise<Record<string, string>> {
  const texts: Record<string, string> = {};
  for (const plan of layout.plans) {
    if (UNSEEN.has(plan.class)) continue;
    const [row] = await rows<{ 'Create Table': string }>(connection, `SHOW CREATE TABLE ${quoteName(plan.name)}`);
    if (row) texts[plan.name] = withoutCounter(row['Create Table']);
  }
  return texts;
}

/** Removes the counter, from the options behind the closing parenthesis alone: a comment or a default may hold the same words. */
function withoutCounter(text: string): string {
  const end = text.lastIndexOf('\n)');
  return text.slice(0, end) + text.slice(end).replace(/ AUTO_INCREMENT=\d+/, '');
}
