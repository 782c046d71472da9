import { existsSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import type { Facts } from '../core/facts.ts';
import { certify } from '../routing/certify.ts';
import { story } from '../routing/story.ts';
import { isRejected, judge, leftOutProviders } from '../runtime/candidate.ts';
import { type Runtime, strategyOf } from '../runtime/runtime.ts';
import { suppose } from '../runtime/suppose.ts';
import { bodyOf, readerOf } from './explain-body.ts';
import { certificateText, paragraphs } from './explain-text.ts';
import { labelOf } from './keys-terms.ts';
import { parseFlags, UsageError } from './options.ts';
import { type PolicyCommand, type PolicyResult, readPolicy } from './policy-command.ts';

const FLAGS = {
  model: { type: 'string' },
  task: { type: 'string' },
  'input-tokens': { type: 'string' },
  'output-tokens': { type: 'string' },
  message: { type: 'string' },
  label: { type: 'string', multiple: true },
  metadata: { type: 'string', multiple: true },
  time: { type: 'string' },
  'key-models': { type: 'string' },
  'cost-weight': { type: 'string' },
  'quality-weight': { type: 'string' },
  json: { type: 'boolean' },
} as const;

/** What is not known here of what a server would go by. */
const NOTE =
  'The figures are the policy’s own: what a server has measured is not known here, and budgets and balances are not looked at.';

/** `signalbox policy explain` of a request that nobody has sent. Throws UsageError, or SignalboxError as the API would. */
export async function explainRequest(args: readonly string[], command: PolicyCommand): Promise<PolicyResult> {
  const { values: flags, positionals } = parseFlags(() =>
    parseArgs({ args: [...args], options: FLAGS, allowPositionals: true }),
  );
  const { folder, file } = placesIn(positionals);
  const body = bodyOf(flags, file === null ? {} : await jsonOf(file, command));
  const runtime = await runtimeOf(folder ?? command.folder, command);
  const { read, user, metadata, stream } = readerOf(body, runtime.snapshot, command.http);
  const key = {
    id: 'explain',
    labels: Object.fromEntries((flags.label ?? []).map(labelOf)),
    models: flags['key-models']?.split(',').map((id) => id.trim()) ?? null,
  };
  const timeMs = flags.time === undefined ? command.judge.now() : momentOf(flags.time);
  const facts = suppose(read, { key, user, metadata, stream, timeMs }, runtime);
  return told(facts, runtime, flags.json ?? false, command);
}

function told(facts: Facts, runtime: Runtime, json: boolean, { terminal, http }: PolicyCommand): PolicyResult {
  const { snapshot } = runtime;
  const certificate = certify(snapshot, facts, { id: 0, seed: '0', ...strategyOf(facts, runtime) });
  const code = certificate.choice === null ? 2 : 0;
  if (json) {
    const { choice, reason, refusal } = certificate;
    const head = { policy_revision: snapshot.revision, route_reason: reason, choice, refusal };
    const body = { ...head, facts: http.factsBody(facts), ...http.certificateBody(certificate, facts) };
    return { text: `${JSON.stringify(body, null, 2)}\n`, code };
  }
  const missing = leftOutProviders(snapshot);
  const notes = missing.length > 0 ? [`Left out with the variables that are set here: ${missing.join(', ')}.`] : [];
  const lines = [...story(certificate, facts), ...notes, NOTE];
  return { text: `${certificateText(certificate, terminal)}\n${paragraphs(lines, terminal)}`, code };
}

/** At most a folder with a policy and a file with a request, in whatever order. */
function placesIn(positionals: readonly string[]): { folder: string | null; file: string | null } {
  const isFile = (path: string) => path === '-' || path.endsWith('.json') || (existsSync(path) && !isFolder(path));
  const [folder = null, ...folders] = positionals.filter((path) => !isFile(path));
  const [file = null, ...files] = positionals.filter(isFile);
  if (folders.length + files.length > 0) {
    throw new UsageError('policy explain takes one folder and one file with a request, or - for the standard input.');
  }
  return { folder, file };
}

const isFolder = (path: string): boolean => statSync(path).isDirectory();

async function jsonOf(file: string, { input }: PolicyCommand): Promise<unknown> {
  const name = file === '-' ? 'The standard input' : file;
  let text: string;
  try {
    text = file === '-' ? await input() : await readFile(file, 'utf8');
  } catch {
    throw new UsageError(`${file} cannot be read.`);
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new UsageError(`${name} is not JSON.`);
  }
}

/** The policy as `serve` would have it in this environment. */
async function runtimeOf(folder: string, { judge: tools }: PolicyCommand): Promise<Runtime> {
  const judged = await judge(await readPolicy(folder), { ...tools, folder });
  if (!isRejected(judged)) return judged.runtime;
  const idle = judged.problems.find(({ code }) => code === 'nothing-to-serve');
  if (idle)
    throw new UsageError(`No provider of ${folder} can serve with the variables that are set here: ${idle.hint}.`);
  const why = judged.message ?? '`serve` would refuse this policy; signalbox policy check tells why';
  throw new UsageError(`${folder}: ${why.replace(/\.$/, '')}.`);
}

function momentOf(text: string): number {
  try {
    return Temporal.Instant.from(text).epochMilliseconds;
  } catch {
    throw new UsageError(`--time is written 2026-11-20T08:00:00Z, with its offset, not "${text}".`);
  }
}
