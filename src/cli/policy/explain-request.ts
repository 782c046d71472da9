import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { callerLevels } from '../../access/levels.ts';
import { levelsAbove } from '../../access/people-copy.ts';
import { explanationJson } from '../../admin/explanation.ts';
import { explainCase, explainRequest } from '../../admin/use-cases/policy/explain.ts';
import { storedPayer } from '../../admin/use-cases/policy/key-funds.ts';
import { type Body, bodyOf, isFolder, runtimeOf } from '../../admin/use-cases/policy/tools.ts';
import { isObject, parseJson } from '../../core/json/object.ts';
import { OPERATOR } from '../../core/people/caller.ts';
import { iso } from '../../core/time/clock.ts';
import { UsageError } from '../../core/usage-error.ts';
import { readRouteBody } from '../../dialects/route-body.ts';
import type { Runtime } from '../../policy/runtime/runtime.ts';
import type { CommandResult } from '../result.ts';
import { operator } from '../user.ts';
import type { PolicyCommand } from './command.ts';
import { type ExplainLine, refuseOthers } from './explain-input.ts';
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
export async function runExplain(line: ExplainLine, command: PolicyCommand): Promise<CommandResult> {
  const { terminal } = command;
  const { input, isJson, words } = line;
  const { folder: named, file } = placesIn(words);
  const folder = named ?? command.folder;
  const { request: stated = {}, key: keyId, team: ofTeam, user: ofUser, time, labels: given, keyModels } = input;
  if (input.case !== undefined) {
    refuseOthers(line, ['--case', '--here'], file);
    return runExplainCase(input.case, folder, { here: input.here === true, isJson }, command);
  }
  if (input.here)
    throw new UsageError(
      '--here works only with --case. Explanations of other requests always use the variables that are set.',
    );
  refuseSeveralSenders(input);
  const body = withStated(bodyOf(file === undefined ? {} : await jsonOf(file, command)), stated);
  if (input.url !== undefined) {
    // The server explains a request with its own policy, and with the labels and models of its own keys.
    const others = [named && 'the folder', ...command.folderFlags, given && '--label', keyModels && '--key-models'];
    const other = others.find(Boolean);
    if (other) throw new UsageError(`--url uses the policy and the keys of the server. Remove ${other}.`);
    const query = {
      request: body,
      key: keyId,
      team: ofTeam,
      user: ofUser,
      time: time === undefined ? time : iso(time),
    };
    const answer = await explainedAt(input.url, query, command.judge.env);
    return explanationResult(answer, { isJson, terminal, note: SERVED, folder: null });
  }
  const runtime = await runtimeOf(folder, command.judge);
  const now = command.judge.now();
  const { time: timeMs = now } = input;
  const { organization, budgets } = runtime.snapshot;
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
  const labels = { ...payer?.info.labels, ...given };
  const models = keyModels ? knownModels(keyModels, runtime) : (payer?.info.models ?? null);
  const { team = null, user = null, notModels = null } = payer?.info ?? {};
  const levels = payer?.levels ?? callerLevels(levelsAbove({ team: null, user: null }, organization));
  const caller = {
    ...OPERATOR,
    keyId: payer?.info.id ?? 'explain',
    labels,
    models: models && new Set(models),
    ...(notModels && { notModels: new Set(notModels) }),
    ...(team && { team }),
    ...(user && { user }),
    ...(levels.length > 0 && { levels }),
  };
  const request = readRouteBody(body);
  const funds = payer?.fundsUnder(budgets, labels, request.model);
  const explanation = await explainRequest({ request, caller, timeMs, funds }, runtime);
  return explanationResult(explanationJson(explanation, { isMeasured: false, isFunded: payer !== null }), {
    isJson,
    terminal,
    folder,
    note: `${NOTE} ${payer ? FUNDED : UNFUNDED}`,
  });
}

/** Throws UsageError if flags name several senders. */
function refuseSeveralSenders(input: { readonly key?: string; readonly team?: string; readonly user?: string }): void {
  const [, second] = (['key', 'team', 'user'] as const).filter((flag) => input[flag] !== undefined);
  if (second) throw new UsageError(`Name only one of --key, --team and --user. Remove --${second}.`);
}

/** Adds the fields that flags state to a request. A map keeps its other members. */
const withStated = (body: Body, stated: object): Body => ({
  ...body,
  ...Object.fromEntries(
    Object.entries(stated).map(([name, value]) => {
      const before = body[name];
      return [name, isObject(before) && isObject(value) ? { ...before, ...value } : value];
    }),
  ),
});

/** Checks IDs of models. Throws UsageError for a model that the policy does not declare. */
function knownModels(ids: readonly string[], { snapshot }: Runtime): readonly string[] {
  const isLeftOut = (id: string) => snapshot.leftOut.some(({ kind, name }) => kind === 'model' && name === id);
  const unknown = ids.find((id) => !snapshot.modelIndex.has(id) && !isLeftOut(id));
  if (unknown === undefined) return ids;
  throw new UsageError(`--key-models: the policy has no model \`${unknown}\`. Use the ID of a declared model.`);
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
  { here, isJson }: { readonly here: boolean; readonly isJson: boolean },
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
    ...explanationJson(explanation, { isMeasured: false, isFunded: false, missing }),
  };
  return explanationResult(body, {
    isJson,
    terminal,
    folder,
    note: CASE_NOTE,
    before: [`The case “${name}” (${placeText(place)}), ${SETTING_WORDS[settings[0]!]}.`],
    after: [keys.length === 0 ? 'The case holds.' : `The case fails: ${keys.join('; ')}.`],
  });
}
