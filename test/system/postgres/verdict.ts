import { parseJson } from '../../../src/core/json/object.ts';
import type { Signalbox } from '../../support/signalbox.ts';
import { audit } from './stage.ts';

/** A price that a caller received, microcredits. */
export interface ToldPrice {
  readonly decision: string;
  readonly micro: number;
}

/** All figures of callers and of the ledger about one budget, microcredits. */
export interface Evidence {
  readonly limit: number;
  readonly told: readonly ToldPrice[];
  /** The amount that the journal has charged for each decision. */
  readonly charged: ReadonlyMap<string, number>;
  readonly spent: number;
  readonly held: number;
  /** The output of `signalbox ledger audit`. */
  readonly audit: string;
}

/** Callers must be able to use this share of a budget's limit. */
const USABLE = 0.98;

/** Lists all errors of a budget after its last refusal. */
export function problemsOf({ limit, told, charged, spent, held, audit }: Evidence): string[] {
  const sum = [...charged.values()].reduce((all, micro) => all + micro, 0);
  const problems = [
    ...(spent > limit || sum > limit ? [`overspent: ${spent} by the budget, ${sum} by the journal, of ${limit}`] : []),
    ...(spent === sum ? [] : [`the budget has spent ${spent}, the journal ${sum}`]),
    ...(held === 0 ? [] : [`${held} are still held`]),
    ...(spent >= USABLE * limit ? [] : [`only ${spent} of ${limit} could be used`]),
    ...(audit === 'nothing wrong' ? [] : [audit]),
  ];
  const decisions = new Set(told.map(({ decision }) => decision));
  if (decisions.size < told.length) problems.push(`${told.length - decisions.size} decisions were told twice`);
  for (const { decision, micro } of told) {
    const booked = charged.get(decision);
    if (booked !== micro) problems.push(`${decision}: told ${micro}, booked ${booked}`);
  }
  return problems;
}

/** The members of a line of `signalbox ledger export` that these tests read. */
interface ExportedLine {
  readonly kind: string;
  readonly decision: string;
  readonly credits: number;
}

const CHARGES: ReadonlySet<string> = new Set(['post', 'settle', 'expire', 'correct']);

const microOf = (credits: number) => Math.round(credits * 1e6);

/** Returns the figures of a team's budget, microcredits. */
export async function standingOf(box: Signalbox, team: string): Promise<Pick<Evidence, 'limit' | 'spent' | 'held'>> {
  const { out, err } = await box.run('ledger', 'status', '--offline', '--json', '--name', 'team');
  const { funds } = parseJson(out) as {
    funds: { subject: string; limit_credits: number; spent_credits: number; held_credits: number }[];
  };
  const fund = funds.find(({ subject }) => subject === team);
  if (!fund) throw new Error(`no budget of ${team}: ${err}`);
  const { limit_credits: limit, spent_credits: spent, held_credits: held } = fund;
  return { limit: microOf(limit), spent: microOf(spent), held: microOf(held) };
}

/** Reads the ledger's figures of a team's budget, which has one key. */
export async function evidenceOf(
  box: Signalbox,
  key: string,
  team: string,
  told: readonly ToldPrice[],
): Promise<Evidence> {
  const { out } = await box.run('ledger', 'export', '--key', key, '--format', 'json');
  const charged = new Map<string, number>();
  for (const { decision, kind, credits } of parseJson(out) as ExportedLine[])
    if (CHARGES.has(kind)) charged.set(decision, (charged.get(decision) ?? 0) + microOf(credits));
  return { ...(await standingOf(box, team)), told, charged, audit: await audit(box) };
}
