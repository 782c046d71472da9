import { keyBody } from '../../access/key-body.ts';
import { differenceOf, type KeyPatch } from '../../access/key-patch.ts';
import type { People } from '../../access/people.ts';
import { WINDOWS } from '../../core/budget.ts';
import type { KeyBudget } from '../../core/caller.ts';
import { UsageError } from '../../core/usage-error.ts';
import { changeKey, suspendKey } from '../../operate/key-change.ts';
import { membershipPatch } from '../../operate/people.ts';
import type { KeyInfo } from '../../store/keys.ts';
import { LIST, pairsOf, parseArguments, SWITCH, TEXT } from '../arguments.ts';
import { userIdOf } from '../people/command.ts';
import { jsonText } from '../text.ts';
import { operator } from '../user.ts';
import { idOf, type KeysCommand, noSuchKey } from './command.ts';
import { budgetOf, expiryOf, limitOf, modelsOf, scopesOf } from './terms.ts';

const FLAGS = {
  ...{ name: TEXT, 'no-name': SWITCH, scope: LIST, label: LIST, 'no-label': LIST, model: LIST, 'no-models': SWITCH },
  ...{ rpm: TEXT, 'no-rpm': SWITCH, tpm: TEXT, 'no-tpm': SWITCH, streams: TEXT, 'no-streams': SWITCH },
  ...{ budget: LIST, 'no-budget': LIST, wallet: LIST, 'no-wallets': SWITCH },
  ...{ 'expires-in': TEXT, 'no-expiry': SWITCH, json: SWITCH },
  ...{ team: TEXT, 'no-team': SWITCH, user: TEXT, 'no-user': SWITCH },
} as const;

type Flags = ReturnType<typeof parseArguments<typeof FLAGS>>['values'];

/** `keys change ID [--name NAME] …`: the flags of `keys create`, each with one that takes its term away. Throws UsageError. */
export async function change(args: readonly string[], { keys, people, now }: KeysCommand): Promise<string> {
  const { values, positionals } = parseArguments(args, FLAGS);
  const id = idOf(positionals, 'change');
  const patchOf = changeIn(values, now());
  const member = memberIn(values, people);
  let before: KeyInfo | null = null;
  const info = await changeKey(operator(), keys, id, (found) => {
    before = found;
    return { ...patchOf(found), ...member };
  });
  if (!info || !before) throw noSuchKey(id);
  return values.json ? jsonText(keyBody(info, now())) : changeText(before, info);
}

/** `keys suspend ID`: stops a key until it is resumed. */
export const suspend = (args: readonly string[], command: KeysCommand): Promise<string> =>
  setSuspended('suspend', args, command);

/** `keys resume ID`. */
export const resume = (args: readonly string[], command: KeysCommand): Promise<string> =>
  setSuspended('resume', args, command);

async function setSuspended(
  name: 'suspend' | 'resume',
  args: readonly string[],
  { keys, now }: KeysCommand,
): Promise<string> {
  const { values, positionals } = parseArguments(args, { json: SWITCH });
  const id = idOf(positionals, name);
  const info = await suspendKey(operator(), keys, id, name === 'suspend');
  if (!info) throw noSuchKey(id);
  if (values.json) return jsonText(keyBody(info, now()));
  return name === 'suspend' ? `Suspended ${id}. To let it work again: keys resume ${id}.\n` : `Resumed ${id}.\n`;
}

/** The members that differ, each with its value of before. */
function changeText(before: KeyInfo, info: KeyInfo): string {
  const difference = differenceOf(before, info);
  if (!difference) return `Nothing changed: ${info.id} has these terms.\n`;
  const lines = Object.entries(difference.after).map(
    ([name, value]) => `  ${name}: ${JSON.stringify(difference.before[name])} -> ${JSON.stringify(value)}\n`,
  );
  return `Changed ${info.id}:\n${lines.join('')}`;
}

/** Reads the flags. @returns the change that they ask for of a key as it is */
function changeIn({ json: _, ...flags }: Flags, now: number): (info: KeyInfo) => KeyPatch {
  if (Object.values(flags).every((value) => value === undefined || value === false)) {
    throw new UsageError('Say what to change, such as --name, --label, --budget or --no-expiry.');
  }
  const { 'no-label': lost = [], 'expires-in': expiresIn } = flags;
  const fixed: KeyPatch = {
    name: either('name', flags.name, flags['no-name']),
    scopes: flags.scope && scopesOf(flags.scope),
    labels: { ...Object.fromEntries(lost.map((name) => [name, null])), ...pairsOf(flags.label, 'A label') },
    models: either('models', modelsOf(flags.model), flags['no-models']),
    limits: {
      requestsPerMinute: either('rpm', limitOf('rpm', flags.rpm), flags['no-rpm']),
      tokensPerMinute: either('tpm', limitOf('tpm', flags.tpm), flags['no-tpm']),
      concurrentStreams: either('streams', limitOf('streams', flags.streams), flags['no-streams']),
    },
    holders: either('wallets', flags.wallet, flags['no-wallets']),
    expiresAt: either('expiry', expiresIn === undefined ? undefined : now + expiryOf(expiresIn), flags['no-expiry']),
  };
  const [added, removed] = [(flags.budget ?? []).map(budgetOf), (flags['no-budget'] ?? []).map(windowIn)];
  return ({ budgets, labels }) => {
    const missing = lost.find((name) => !Object.hasOwn(labels, name));
    if (missing !== undefined) throw new UsageError(`The key has no label "${missing}".`);
    return { ...fixed, budgets: budgetsWith(budgets, added, removed) };
  };
}

/** Whose key it becomes. Throws UsageError and PeopleError. */
function memberIn({ team, 'no-team': noTeam, user, 'no-user': noUser }: Flags, people: People) {
  const id = either('user', user === undefined ? undefined : userIdOf(people, user), noUser);
  const name = either('team', team, noTeam);
  return membershipPatch(people, { ...(name !== undefined && { team: name }), ...(id !== undefined && { user: id }) });
}

/** A value that a flag states, or null where `--no-…` takes it away; undefined where neither was given. Throws UsageError for both. */
function either<T>(name: string, stated: T | undefined, isRemoved: boolean): T | null | undefined {
  if (!isRemoved) return stated;
  if (stated === undefined) return null;
  throw new UsageError(`--no-${name} contradicts the flag that states another value. Give one of them.`);
}

type BudgetWindow = Pick<KeyBudget, 'window' | 'timeZone'>;

/** `month` or `month@Europe/Berlin`. Throws UsageError. */
function windowIn(text: string): BudgetWindow {
  const [name, timeZone = 'UTC'] = text.split('@', 2);
  const window = WINDOWS.find((known) => known === name);
  if (!window) {
    throw new UsageError(
      `--no-budget takes a window such as month or day@Europe/Berlin, of ${WINDOWS.join(', ')}, not "${text}".`,
    );
  }
  return { window, timeZone };
}

const isOf =
  ({ window, timeZone }: BudgetWindow) =>
  (one: BudgetWindow) =>
    one.window === window && one.timeZone === timeZone;

/** The budgets of a key with some in place of those of their windows, and without those of others. Throws UsageError. */
function budgetsWith(
  before: readonly KeyBudget[],
  added: readonly KeyBudget[],
  removed: readonly BudgetWindow[],
): readonly KeyBudget[] {
  const missing = removed.find((one) => !before.some(isOf(one)));
  if (missing) throw new UsageError(`The key has no budget of the window ${missing.window} in ${missing.timeZone}.`);
  return [...before.filter((budget) => ![...added, ...removed].some(isOf(budget))), ...added];
}
