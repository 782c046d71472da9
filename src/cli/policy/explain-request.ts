import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { callerLevels } from '../../access/levels.ts';
import { levelsAbove } from '../../access/people-copy.ts';
import { explanationBody } from '../../admin/explanation-body.ts';
import { explainCase, explainRequest } from '../../admin/use-cases/policy/explain.ts';
import { momentOf } from '../../admin/use-cases/policy/hypothetical.ts';
import { storedPayer } from '../../admin/use-cases/policy/key-funds.ts';
import { bodyOf, isFolder, runtimeOf } from '../../admin/use-cases/policy/tools.ts';
import { parseJson } from '../../core/json/object.ts';
import { UsageError } from '../../core/usage-error.ts';
import { readRouteBody } from '../../dialects/route-body.ts';
import type { Runtime } from '../../policy/runtime/runtime.ts';
import { pairsOf, parseArguments } from '../arguments.ts';
import type { CommandResult } from '../result.ts';
import { operator } from '../user.ts';
import type { PolicyCommand } from './command.ts';
import { EXPLAIN_FLAGS, refuseOthers, withFlags } from './explain-flags.ts';
import { explanationResult } from './explain-result.ts';
import { explainedAt } from './explain-served.ts';
import { SETTING_WORDS } from './setting-text.ts';
import { missingText, placeText } from './test-text.ts';

const NOTE =
  'The figures come from the policy. Only a running server knows measured answer lengths and latencies, which endpoints are healthy, and the models that it found at model servers. To use its knowledge, name the server with --url.';
const SERVED = 'The server used its own policy and measurements.';
const UNFUNDED =
  'Budgets and balances are not considered. Name a sender with --key, --team or --user to consider its own.';
const FUNDED =
  'Budgets and balances come from the stored ledger. A budget that the ledger does not know counts as unspent.';

/** Runs `signalbox policy explain` for a hypothetical request. Throws UsageError, or the SignalboxError that the API would return. */
export async function runExplain(args: readonly string[], command: PolicyCommand): Promise<CommandResult> {
  const { terminal } = command;
  const { values: flags, positionals } = parseArguments(args, EXPLAIN_FLAGS);
  const { folder: named, file } = placesIn(positionals);
  const folder = named ?? command.folder;
  if (flags.case !== undefined) {
    const { case: name, here, json, ...more } = flags;
    refuseOthers('--case', more, file);
    return runExplainCase(name, folder, { here, json }, command);
  }
  if (flags.here)
    throw new UsageError(
      '--here works only with --case. Explanations of other requests always use the variables that are set.',
    );
  refuseSeveralSenders(flags);
  const body = withFlags(bodyOf(file === undefined ? {} : await jsonOf(file, command)), flags);
  if (flags.url !== undefined) {
    const { url, key, team, user, time, json, label, 'key-models': keyModels } = flags;
    // The server explains a request with its own policy, and with the labels and models of its own keys.
    const others = [named && 'the folder', ...command.folderFlags, label && '--label', keyModels && '--key-models'];
    const other = others.find(Boolean);
    if (other) throw new UsageError(`--url uses the policy and the keys of the server. Remove ${other}.`);
    const answer = await explainedAt(url, { request: body, key, team, user, time }, command.judge.env);
    return explanationResult(answer, { json, terminal, note: SERVED, folder: null });
  }
  const runtime = await runtimeOf(folder, command.judge);
  const now = command.judge.now();
  const timeMs = flags.time === undefined ? now : momentOf('--time', flags.time);
  const { organization, budgets } = runtime.snapshot;
  const { key: keyId, team: ofTeam, user: ofUser } = flags;
  const payer =
    (keyId ?? ofTeam ?? ofUser)
      ? await storedPayer(
          operator(),
          command.database,
          { key: keyId, team: ofTeam, user: ofUser },
          { now, timeMs },
          runtime.snapshot,
        )
      : null;
  const labels = { ...payer?.info.labels, ...pairsOf(flags.label, 'A label') };
  const stated = flags['key-models'];
  const models = stated === undefined ? (payer?.info.models ?? null) : knownModels(stated, runtime);
  const { team = null, user = null, notModels = null } = payer?.info ?? {};
  const levels = payer?.levels ?? callerLevels(levelsAbove({ team: null, user: null }, organization));
  const key = { id: payer?.info.id ?? 'explain', labels, models, notModels, team, user, levels };
  const request = readRouteBody(body);
  const funds = payer?.fundsUnder(budgets, labels, request.model);
  const explanation = await explainRequest({ request, key, timeMs, funds }, runtime);
  return explanationResult(explanationBody(explanation, { isMeasured: false, isFunded: payer !== null }), {
    json: flags.json,
    terminal,
    folder,
    note: `${NOTE} ${payer ? FUNDED : UNFUNDED}`,
  });
}

/** Throws UsageError if flags name several senders. */
function refuseSeveralSenders(flags: { readonly key?: string; readonly team?: string; readonly user?: string }): void {
  const [, second] = (['key', 'team', 'user'] as const).filter((flag) => flags[flag] !== undefined);
  if (second) throw new UsageError(`Name only one of --key, --team and --user. Remove --${second}.`);
}

/** Reads IDs of models. Throws UsageError for a model that the policy does not declare. */
function knownModels(text: string, { snapshot }: Runtime): string[] {
  const isLeftOut = (id: string) => snapshot.leftOut.some(({ kind, name }) => kind === 'model' && name === id);
  return text.split(',').map((part) => {
    const id = part.trim();
    if (snapshot.modelIndex.has(id) || isLeftOut(id)) return id;
    throw new UsageError(`--key-models: the policy has no model \`${id}\`. Use the ID of a declared model.`);
  });
}

/** Reads at most one policy folder and at most one file with a request, in any order. */
function placesIn(positionals: readonly string[]) {
  const isFile = (path: string) => path === '-' || path.endsWith('.json') || (existsSync(path) && !isFolder(path));
  const [folder, ...folders] = positionals.filter((path) => !isFile(path));
  const [file, ...files] = positionals.filter(isFile);
  if (folders.length + files.length > 0) {
    throw new UsageError(
      'policy explain takes one policy folder and one file with a request, or - for the standard input.',
    );
  }
  return { folder, file };
}

async function jsonOf(file: string, { input }: PolicyCommand): Promise<unknown> {
  const name = file === '-' ? 'The standard input' : file;
  let text: string;
  try {
    text = file === '-' ? await input() : await readFile(file, 'utf8');
  } catch {
    throw new UsageError(`${file} cannot be read.`);
  }
  // Some editors write a byte order mark at the beginning of a file.
  const body = parseJson(text.replace(/^\uFEFF/, ''));
  if (body === undefined) throw new UsageError(`${name} is not JSON.`);
  return body;
}

const CASE_NOTE = 'Cases use only the figures that the policy declares. Measurements and budgets are not considered.';

/** Runs `signalbox policy explain --case`. Throws UsageError, or the SignalboxError that the API would return. */
async function runExplainCase(
  caseName: string,
  folder: string,
  { here, json }: { readonly here: boolean; readonly json: boolean },
  { judge, terminal }: PolicyCommand,
): Promise<CommandResult> {
  const explanation = await explainCase(caseName, folder, here, judge);
  const { name, place } = explanation.case;
  if (explanation.unserved) {
    throw new UsageError(`The case "${name}" cannot run: ${missingText(explanation.unserved)}.`);
  }
  const { failures, settings, missing } = explanation;
  const status = failures.length === 0 ? 'holds' : 'failed';
  const keys = failures.map(({ key, wanted, got }) => `${key} is ${got}, expected ${wanted}`);
  const { file, line, column } = place;
  const body = {
    case: { name, file: basename(file), line, column, status, settings },
    ...explanationBody(explanation, { isMeasured: false, isFunded: false, missing }),
  };
  return explanationResult(body, {
    json,
    terminal,
    folder,
    note: CASE_NOTE,
    before: [`The case “${name}” (${placeText(place)}), ${SETTING_WORDS[settings[0]!]}.`],
    after: [keys.length === 0 ? 'The case holds.' : `The case fails: ${keys.join('; ')}.`],
  });
}
