import { type Microcredits, toCredits } from '../../core/credits.ts';
import { creditsText } from '../../core/text.ts';
import { usdColumn, usdText } from '../../core/usd.ts';
import { holdAge } from '../../ledger/open-holds.ts';
import { type FundUse, inOrder } from '../../operate/ledger/fund-pages.ts';
import { type LedgerOverview, overviewBody, overviewNamed } from '../../operate/ledger/status.ts';
import type { HolderNames } from '../../operate/usage.ts';
import { parseFlags, SWITCH, TEXT } from '../arguments.ts';
import { grid } from '../terminal.ts';
import { count, jsonText, minute } from '../text.ts';

/** Reads the arguments of `ledger status`. Throws UsageError. */
export const parseStatus = (args: readonly string[]) => parseFlags(args, { name: TEXT, json: SWITCH });

/** Lines of the table at most; `--json` has more. */
const SHOWN_MAX = 100;

/** The overview as JSON, or as a table of funds with the sums. @param now ms since 1970 */
export function statusText(
  overview: LedgerOverview,
  { name, json }: ReturnType<typeof parseStatus>,
  now: number,
  nameOf: HolderNames,
): string {
  if (json) return jsonText(overviewBody(overview, name, now));
  const { charged, held, open, funds: all, usdPerCredit } = overviewNamed(overview, name);
  const sums = `${creditsText(charged)} (${usdText(charged, usdPerCredit)}) charged, ${creditsText(held)} (${usdText(held, usdPerCredit)}) held by ${count(open, 'open request')}.\n`;
  if (all.length === 0) return name === undefined ? sums : `No fund is named ${name}.\n`;
  const shown = inOrder(all, now).slice(0, SHOWN_MAX);
  const limits = usdColumn(
    shown.map(({ limit }) => limit),
    usdPerCredit,
  );
  const spent = usdColumn(
    shown.map((use) => use.spent),
    usdPerCredit,
  );
  const rows = shown.map((use, at) => rowOf(use, [limits[at]!, spent[at]!], now, nameOf));
  const rest = all.length > SHOWN_MAX ? `and ${count(all.length - SHOWN_MAX, 'fund')} more\n` : '';
  return `${grid([HEAD, ...rows], false, (column) => column >= 2 && column <= 8).join('\n')}\n${rest}\n${sums}`;
}

const HEAD = ['FUND', 'SUBJECT', 'LIMIT', 'SPENT', 'HELD', 'LIMIT USD', 'SPENT USD', 'BY', 'OLDEST', 'RENEWS'];

function rowOf(
  { title, limit, spent, held, holds }: FundUse,
  inUsd: readonly string[],
  now: number,
  nameOf: HolderNames,
): string[] {
  const called = nameOf('team', title.subject) ?? nameOf('user', title.subject);
  return [
    title.kind === 'balance' ? `balance ${title.name}` : title.name,
    called === null ? title.subject || '-' : `${title.subject} (${called})`,
    ...[limit, spent, held].map(figure),
    ...inUsd,
    String(holds.open),
    holds.open === 0 ? '-' : `${Math.round(holdAge(holds, now) / 1_000).toLocaleString('en')} s`,
    Number.isFinite(title.ends) ? minute(title.ends) : 'never',
  ];
}

const figure = (amount: Microcredits): string => toCredits(amount).toLocaleString('en', { maximumFractionDigits: 6 });
