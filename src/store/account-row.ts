import { type Dimensions, LABEL } from '../core/accounting/entry.ts';

/** A spender, as the tables of a store have it; entries name it by number. */
export interface AccountRow {
  readonly keyId: string;
  /** Of the key, as JSON. */
  readonly labels: string;
  readonly selector: string;
  /** Null for requests of no session. */
  readonly session: string | null;
  /** Null for requests of no agent within one. */
  readonly agent: string | null;
  /** IDs of the team and the user that the key belonged to; null for none. */
  readonly team: string | null;
  readonly user: string | null;
  /** The wallet that pays in its place; null where its own balance does. */
  readonly payer: string | null;
}

/** Throws RangeError for a dimension that the tables have no column for. */
export function accountOf(dimensions: Dimensions): AccountRow {
  const { key = '', selector = '', holder: payer = null, session = null, agent = null, ...rest } = dimensions;
  const { team = null, user = null, ...others } = rest;
  const labels: Record<string, string> = {};
  for (const [name, value] of Object.entries(others)) {
    if (!name.startsWith(LABEL)) throw new RangeError(`entries have no dimension ${name}`);
    labels[name.slice(LABEL.length)] = value;
  }
  return { keyId: key, labels: JSON.stringify(labels), selector, payer, session, agent, team, user };
}

/** The dimensions of a row; its labels were written by `accountOf` alone. */
export function dimensionsOf({
  keyId,
  labels,
  selector,
  session,
  agent,
  team,
  user,
  payer = null,
}: Omit<AccountRow, 'payer'> & { payer?: string | null }): Dimensions {
  const dimensions: Record<string, string> = { key: keyId, selector };
  if (session !== null) dimensions.session = session;
  if (agent !== null) dimensions.agent = agent;
  if (team !== null) dimensions.team = team;
  if (user !== null) dimensions.user = user;
  if (payer !== null) dimensions.holder = payer;
  for (const [name, value] of Object.entries(JSON.parse(labels) as Record<string, string>)) {
    dimensions[LABEL + name] = value;
  }
  return dimensions;
}
