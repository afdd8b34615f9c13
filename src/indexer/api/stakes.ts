import Type, { type Static } from 'typebox';
import { formatAmount } from '../../consensus/amount.ts';
import { type Pool, rows } from '../../db/connection.ts';
import { readDecimal } from '../store/read-decimal.ts';
import { VALID_STATUS } from '../store/valid-status.ts';

/** Stake of one key. */
export const SignerStakeSchema = Type.Object({
  pubkey: Type.String(),
  source: Type.String({ description: 'The staker; several keys of one source count once' }),
  stake: Type.String({ description: 'Units of the gas token' })
});

/** Keys that sign in a block of a height. */
export interface SignerStakes {
  /** Height; null while there are no blocks. */
  readonly block_index: number | null;
  readonly signers: readonly Static<typeof SignerStakeSchema>[];
}

/** Filter of keys and height. A null key is any key, a null height the newest. */
export interface StakeQuestion {
  readonly pubkey: string | null;
  readonly height: number | null;
}

const ACTIVE = (row: string) =>
  `${row}.status_id = ${VALID_STATUS} AND ${row}.activation_block <= :h AND (${row}.deactivation_block IS NULL OR ${row}.deactivation_block > :h)`;

/**
 * Stakes behind keys: a stake's own key has its stake, a delegated key all that its source has staked. A banned key has
 * none.
 */
const STAKES = `SELECT k.pubkey, a.address AS source, SUM(CAST(s.amount AS DECIMAL(60,18))) AS stake FROM (
    SELECT o.signing_pubkey_id, o.source_id, o.amount FROM stakes o WHERE ${ACTIVE('o')}
      AND NOT EXISTS (SELECT 1 FROM stake_key_revocations r WHERE r.signing_pubkey_id = o.signing_pubkey_id
        AND r.status_id = ${VALID_STATUS} AND r.deactivation_block <= :h)
    UNION ALL SELECT d.signing_pubkey_id, o.source_id, o.amount FROM delegations d
      JOIN stakes o ON o.source_id = d.source_id WHERE ${ACTIVE('d')} AND ${ACTIVE('o')}) s
  JOIN index_pubkeys k ON k.id = s.signing_pubkey_id JOIN index_addresses a ON a.id = s.source_id
  WHERE (:k IS NULL OR k.pubkey = :k) AND NOT EXISTS (
    SELECT 1 FROM capability_slash_events e WHERE e.signing_pubkey_id = s.signing_pubkey_id) GROUP BY k.pubkey, a.address ORDER BY k.pubkey, a.address`;

/** Reads keys with the stakes that count in a block, by key. @throws the driver's error */
export async function readStakes(pool: Pick<Pool, 'query'>, { pubkey, height }: StakeQuestion): Promise<SignerStakes> {
  const [tip] = await rows<{ height: number | null }>(pool, 'SELECT MAX(block_index) AS height FROM blocks');
  const block = tip?.height == null ? null : Math.min(height ?? tip.height, tip.height);
  if (block === null) return { block_index: null, signers: [] };
  const values = { ':h': block, ':k': pubkey } as const;
  const found = await rows<{ pubkey: string; source: string; stake: string }>(
    pool,
    STAKES.replaceAll(/:[hk]/g, '?'),
    (STAKES.match(/:[hk]/g) ?? []).map((name) => values[name as keyof typeof values])
  );
  const signers = found.map(({ stake, ...named }) => ({ ...named, stake: formatAmount(readDecimal(stake)) }));
  return { block_index: block, signers };
}
