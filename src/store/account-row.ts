import { type Dimensions, LABEL } from '../core/accounting/entry.ts';

/** An account (who spends), as a row of the store's tables. Ledger entries refer to it by number. */
export interface AccountRow {
  readonly keyId: string;
  /** Labels of the API key, as JSON. */
  readonly labels: string;
  readonly selector: string;
  /** Session of the request; null if the request belongs to no session. */
  readonly session: string | null;
  /** Agent within the session; null for none. */
  readonly agent: string | null;
  /** IDs of the team and the user that the key belonged to at that time; null for none. */
  readonly team: string | null;
  readonly user: string | null;
  /** Address of the wallet that pays instead of the key; null if the key's own balance pays. */
  readonly payer: string | null;
}

/** Makes the row for the dimensions of a request. @throws RangeError for a dimension that has no column */
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

/** Restores the dimensions from a row. Only `accountOf` writes the labels, so the labels are parsed without a check. */
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
