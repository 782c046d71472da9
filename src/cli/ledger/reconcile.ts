import { readFile } from 'node:fs/promises';
import { readBooks } from '../../admin/use-cases/ledger/reading.ts';
import { type Reconciliation, reconcileBills } from '../../admin/use-cases/ledger/reconcile.ts';
import { UsageError } from '../../core/usage-error.ts';
import { billIn } from '../../ledger/reconcile/bill-files.ts';
import { usdText } from '../../ledger/reconcile/billed.ts';
import { DIFFERENCES, type Difference } from '../../ledger/reconcile/compare.ts';
import { parseArguments, SWITCH, TEXT } from '../arguments.ts';
import type { CommandContext, CommandDefinition } from '../command.ts';
import { DATA } from '../command-help.ts';
import type { CommandResult } from '../result.ts';
import { grid, paragraphs } from '../terminal.ts';
import { count, jsonText } from '../text.ts';
import { operator } from '../user.ts';

/** `signalbox ledger reconcile` */
export const ledgerReconcile: CommandDefinition = {
  use: 'when the bill of a provider arrives.',
  example: 'ledger reconcile november-costs.json november-usage.json --account proj_gateway',
  usage: 'FILE... [--provider NAME] [--account ID] [--json] [--data DIR]',
  summary: 'Compare the bill of a provider with the books, by day, model and unit.',
  details: `FILE is an answer of OpenAI's organization/costs or organization/usage, an answer of Anthropic's usage
or cost reports, or a CSV export of either. Name files with tokens and files with costs together.
--provider is the name of the provider in the policy, if it is not openai or anthropic.
--account is the project, the workspace or the API key that only the gateway uses: what other accounts
used is then no difference of the gateway.
Exit code: 0 if the bill and the books are equal, or differ only by traffic outside of the gateway; otherwise 2.
${DATA}`,
  run: reconcile,
};

async function reconcile(args: readonly string[], context: CommandContext): Promise<CommandResult> {
  const { positionals, values } = parseArguments(args, { provider: TEXT, account: TEXT, json: SWITCH });
  if (positionals.length === 0) throw new UsageError('ledger reconcile needs at least one file with a bill.');
  const bills = await Promise.all(positionals.map(async (file) => billIn(await textOf(file), file)));
  const { provider = null, account = null, json } = values;
  const found = await readBooks(operator(), await context.books(), context.tell, ({ journal }) =>
    reconcileBills(operator(), journal, bills, { provider, account }),
  );
  const isSound = found.differences.every(({ kind }) => kind === 'outside_traffic');
  return { text: json ? jsonText(bodyOf(found)) : textFor(found, context.terminal), code: isSound ? 0 : 2 };
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch {
    throw new UsageError(`${file} cannot be read.`);
  }
}

const bodyOf = ({ billed, booked, differences, ...rest }: Reconciliation): object => ({
  ...rest,
  billed_usd: billed === null ? null : usdText(billed),
  booked_usd: usdText(booked),
  differences: differences.map(({ usd, ...difference }) => ({
    ...difference,
    usd: usd === null ? null : usdText(usd),
  })),
});

function textFor(found: Reconciliation, terminal: boolean): string {
  const { provider, from, to, differences, billed, booked, charges } = found;
  const sums = billed === null ? '' : ` The bill: ${usdText(billed)} USD.`;
  const head = `${provider}, ${from} to ${to}: ${count(charges, 'charge')} of ${usdText(booked)} USD in the books.${sums}`;
  if (differences.length === 0) return paragraphs([head, 'The bill and the books are equal.'], terminal);
  const rows = differences.map((one) => [
    one.from === one.to ? one.from : `${one.from} to ${one.to}`,
    one.model ?? '',
    one.kind,
    one.unit ?? '',
    amountText(one),
    one.usd === null ? '' : signed(usdText(one.usd)),
    one.detail,
  ]);
  const title = ['day', 'model', 'difference', 'unit', 'billed / booked', 'USD', 'found'];
  const lines = grid([title, ...rows], terminal, (column) => column === 4 || column === 5);
  const kinds = [...new Set(differences.map(({ kind }) => kind))].map((kind) => `${kind}: ${DIFFERENCES[kind]}`);
  return `${paragraphs([head], terminal)}\n${lines.join('\n')}\n\n${paragraphs(kinds, terminal)}`;
}

const amountText = ({ billed, booked }: Difference): string =>
  billed === null || booked === null ? '' : `${billed.toLocaleString('en')} / ${booked.toLocaleString('en')}`;
const signed = (text: string): string => (text.startsWith('-') ? text : `+${text}`);
