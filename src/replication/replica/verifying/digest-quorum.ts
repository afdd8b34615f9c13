import { type MarksOf, majorityOf } from '../../../consensus/source-majority.ts';
import { PlatformError } from '../../../errors.ts';
import type { SourceClient } from '../../client/source-client.ts';
import type { Attestation } from '../compare/comparison.ts';
import type { Replica } from '../parts/replica.ts';
import type { SourceRecord } from '../parts/source-set.ts';

type Parts = Pick<Replica, 'data' | 'log' | 'progress' | 'store' | 'sources'>;

/** One source's digests of the replica's tables. */
export interface DigestReport {
  readonly equal: readonly string[];
  readonly different: readonly string[];
}

/** Verdict of all sources together. */
export interface QuorumVerdict {
  /** Tables that no strict majority of the configured sources has as the replica has them. */
  readonly unconfirmed: readonly string[];
  /** A source has another one of these tables: to ask again soon would change nothing. */
  readonly isContradicted: boolean;
}

/**
 * Tables of which two honest sources have different rows: the log is made of the replica's own blocks, and the others
 * tell what one indexer went through, such as its reorgs. They are those of the source that is followed.
 */
const OWN_TABLES: ReadonlySet<string> = new Set(['sync_meta', 'events', 'push_generations']);
/** Returns whether a table of the replica is compared with that of other sources. */
export const isTheirs = (table: string): boolean => !OWN_TABLES.has(table);
const MAX_NAMED = 20;

/**
 * Counts, for each table that any source names, the sources whose table equals the replica's.
 *
 * @param reports by the sources' names
 * @param sourceCount configured sources, those included that said nothing
 * @param keeps whether the replica has the table; a source that does not name it agrees where the replica has none either
 */
export function countReports(
  reports: ReadonlyMap<string, DigestReport>,
  sourceCount: number,
  keeps: (table: string) => boolean,
  marksOf?: MarksOf
): QuorumVerdict & { readonly refuted: readonly string[] } {
  const all = [...reports.values()];
  const named = new Set(all.flatMap(({ equal, different }) => [...equal, ...different]));
  const tables = [...named].filter(isTheirs).sort();
  const isMajority = (holds: (report: DigestReport) => boolean) =>
    majorityOf(new Map([...reports].map(([source, report]) => [source, holds(report)])), sourceCount, marksOf) === true;
  const agrees = (table: string) => (report: DigestReport) =>
    report.equal.includes(table) || !(report.different.includes(table) || keeps(table));
  const unconfirmed = tables.filter((table) => !isMajority(agrees(table)));
  const differs = (table: string) => (report: DigestReport) => report.different.includes(table);
  return {
    unconfirmed,
    isContradicted: unconfirmed.some((table) => all.some(differs(table))),
    refuted: tables.filter((table) => isMajority(differs(table)))
  };
}

/**
 * With VERIFY_HASHES: a replica counts as verified when a strict majority of the configured sources has each of its tables.
 *
 * Hashes cover few tables; in all others the followed source could lie. Each source draws a key of its own,
 * so the replica makes a pass for each that is asked, until the majority is there.
 */
export class DigestQuorum {
  readonly #replica: Parts;
  #turn = 0;

  constructor(replica: Parts) {
    this.#replica = replica;
  }

  get isNeeded(): boolean {
    const { verifyHashes, sources } = this.#replica.data;
    return verifyHashes && sources.length > 1;
  }

  /**
   * @param equal tables that the source which is followed has as the replica has them
   * @param attest compares the replica with another source; nothing is repaired
   */
  async judge(
    height: number,
    equal: readonly string[],
    attest: (source: SourceClient) => Promise<Attestation>,
    signal: AbortSignal
  ): Promise<QuorumVerdict> {
    const { followed, marksOf } = this.#replica.sources;
    const { data } = this.#replica;
    const { context } = this.#replica.store;
    const { byName } = context.schema;
    const reports = new Map<SourceRecord, DigestReport>([[followed, { equal, different: [] }]]);
    await this.#replica.sources.identify(followed, signal);
    followed.digests = `equal at block ${height}`;
    const byUrl = () => new Map([...reports].map(([{ client }, report]) => [client.url, report]));
    const isMajority = () =>
      majorityOf(new Map([...byUrl().keys()].map((url) => [url, true])), data.sources.length, marksOf) === true;
    const count = () => countReports(byUrl(), data.sources.length, (table) => byName.has(table), marksOf);
    let verdict = count();
    for (const record of this.#inTurn()) {
      if (isMajority() && verdict.unconfirmed.length === 0) break;
      const report = await this.#ask(record, height, attest, signal);
      if (report) reports.set(record, report);
      verdict = count();
    }
    this.#nameDissenters(height, reports, verdict);
    this.#replica.progress.changed();
    // One that names no table at all confirms none.
    return isMajority() ? verdict : { ...verdict, unconfirmed: [...byName.keys()].filter(isTheirs) };
  }

  /** Returns the sources, those that are heard first; the first of them changes, so that in time each is asked. */
  #inTurn(): readonly SourceRecord[] {
    const { others } = this.#replica.sources;
    const first = this.#turn++ % others.length;
    const rotated = [...others.slice(first), ...others.slice(0, first)];
    return rotated.sort((a, b) => Number(b.state === 'heard') - Number(a.state === 'heard'));
  }

  async #ask(
    record: SourceRecord,
    height: number,
    attest: (source: SourceClient) => Promise<Attestation>,
    signal: AbortSignal
  ): Promise<DigestReport | null> {
    try {
      await this.#replica.sources.identify(record, signal);
      const found = await attest(record.client);
      record.digests = describe(found, height);
      return found.kind === 'told' ? found : null;
    } catch (caught) {
      if (!(caught instanceof PlatformError) || !caught.code.startsWith('SOURCE_')) throw caught;
      record.digests = caught.detail['status'] === 404 ? 'offers no digests' : `not compared: ${caught.message}`;
      return null;
    }
  }

  /** Logs the minority: the sources that differ from the replica, or the followed source if the majority differs. */
  #nameDissenters(
    height: number,
    reports: ReadonlyMap<SourceRecord, DigestReport>,
    { unconfirmed, refuted }: ReturnType<typeof countReports>
  ): void {
    const { followed } = this.#replica.sources;
    const { log } = this.#replica;
    for (const [record, { different }] of reports) {
      const tables = record === followed ? refuted : different.filter((table) => !unconfirmed.includes(table));
      const held = tables.filter(isTheirs);
      if (held.length === 0) continue;
      record.dissents++;
      const { url } = record.client;
      log.error(
        { block: height, source: url, tables: held },
        `${url} has other rows at block ${height} than the majority`
      );
    }
  }
}

function describe(found: Attestation, height: number): string {
  if (found.kind === 'elsewhere') return `at block ${found.sourceHeight}: not compared`;
  const { different, unsettled } = found;
  const names = [...different, ...unsettled].filter(isTheirs);
  if (names.length === 0) return `equal at block ${height}`;
  const more = names.length > MAX_NAMED ? `, and ${names.length - MAX_NAMED} more` : '';
  return `differs at block ${height}: ${names.slice(0, MAX_NAMED).join(', ')}${more}`;
}
