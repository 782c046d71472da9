import { UsageError } from '../../core/usage-error.ts';
import { compareCases, NO_TOTALS, type Side, withOutcomes } from '../../operate/policy/compare.ts';
import { inSlices } from '../../runtime/slices.ts';
import { parseArguments } from '../options.ts';
import type { CommandResult } from '../result.ts';
import { isFolder, type PolicyCommand } from './command.ts';
import { type Difference, differenceJson } from './diff-json.ts';
import { compareRequests } from './diff-requests.ts';
import { buildSide, changesOf, renamesOf } from './diff-side.ts';
import { differenceText } from './diff-text.ts';
import { findPlace, folderPlace } from './place.ts';
import { createScratch, type Scratch } from './scratch.ts';

const FLAGS = { requests: { type: 'string' }, json: { type: 'boolean' }, strict: { type: 'boolean' } } as const;

/** `signalbox policy diff`. Throws UsageError, also where the earlier policy cannot be loaded, after what could be told. */
export async function diffPolicy(args: readonly string[], command: PolicyCommand): Promise<CommandResult> {
  const { values, positionals } = parseArguments(args, FLAGS);
  const [a, b, ...more] = positionals;
  if (a === undefined || more.length > 0) {
    throw new UsageError(
      'policy diff takes one or two policies: folders, revisions or commits, as in policy diff HEAD.',
    );
  }
  const scratch = createScratch();
  const about = { ...command, folder: folderMeant(positionals, command) };
  const difference = await scratch.use(compare(a, b, values.requests, about, scratch));
  const text = values.json ? differenceJson(difference) : differenceText(difference, command.terminal);
  if (difference.a.side === null) {
    await command.write(text);
    throw new UsageError(`${a} cannot be loaded, so nothing could be compared beyond what is declared.`);
  }
  return { text, code: isFine(difference, values.strict ?? false) ? 0 : 2 };
}

/** Whose past a commit alone means: beside a folder, and where none was set, that folder's rather than the shipped one's. */
function folderMeant(said: readonly string[], { folder, shippedFolder }: PolicyCommand): string {
  return folder === shippedFolder ? (said.find(isFolder) ?? folder) : folder;
}

async function compare(
  a: string,
  b: string | undefined,
  requests: string | undefined,
  command: PolicyCommand,
  scratch: Scratch,
): Promise<Difference> {
  const earlier = await buildSide(await findPlace(a, command, scratch), command);
  const place = b === undefined ? folderPlace(command.folder, command) : findPlace(b, command, scratch);
  const later = await buildSide(await place, command);
  const changes = changesOf(earlier, later);
  const sides = earlier.side && later.side && { a: earlier.side, b: later.side };
  const decided = sides && (await decide(sides.a, sides.b, requests, command));
  return { a: earlier, b: later, changes, renamed: renamesOf(earlier, later), decided };
}

async function decide(a: Side, b: Side, file: string | undefined, { http }: PolicyCommand) {
  const cases = await inSlices(compareCases(a, b), () => false);
  return {
    cases,
    caseTotals: cases.reduce((totals, one) => withOutcomes(totals, one.a, one.b), NO_TOTALS),
    requests: file === undefined ? null : await compareRequests(file, a, b, http),
    worth: { a: a.anywhere.snapshot.usdPerCredit, b: b.anywhere.snapshot.usdPerCredit },
  };
}

function isFine({ decided }: Difference, strict: boolean): boolean {
  if (decided === null || decided.cases.some(({ broken }) => broken.length > 0)) return false;
  const different = decided.caseTotals.different + (decided.requests?.totals.different ?? 0);
  return !strict || different === 0;
}
