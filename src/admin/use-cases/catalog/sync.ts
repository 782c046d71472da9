import { basename } from 'node:path';
import type { ListedModel } from '../../../contract/provider.ts';
import { isConversation, OPERATIONS } from '../../../core/kinds/operations.ts';
import { UsageError } from '../../../core/usage-error.ts';
import { maxOutputOf, qualityOf } from '../../../policy/compiled/found.ts';
import type { ParsedPolicy } from '../../../policy/load.ts';
import { FactsTable, loadFacts } from '../../../policy/models/facts.ts';
import { listNames, nearestHint } from '../../../policy/report/nearest.ts';
import { compileCandidate, isRejected } from '../../../policy/runtime/candidate.ts';
import { foundList } from '../../../policy/runtime/discovery/found-list.ts';
import { modelServerOf, readServer } from '../../../policy/runtime/discovery/read-server.ts';
import type { Runtime } from '../../../policy/runtime/runtime.ts';
import { UpstreamNetwork } from '../../../providers/connection/network.ts';
import { failureText, UpstreamError } from '../../../providers/failures.ts';
import { listModels } from '../../../providers/model-list.ts';
import { checkCommand, policyName } from '../policy/folder-words.ts';
import { idleIn, type JudgeTools, nothingServes, readPolicy, toolsFor } from '../policy/tools.ts';
import { loadOwnFigures } from './own-models.ts';
import { type CatalogProposal, type PolicyModel, type ProposableModel, propose } from './propose.ts';
import { renewTable } from './table.ts';
import { readWitness } from './witnesses/read.ts';

/**
 * Compares the list of models of a provider with the models that a policy has at this provider. Changes nothing.
 * @param today such as `2026-11-20`
 * @param paths witnesses whose figures are used in addition to the public table
 * @throws UsageError if a witness cannot be read, the policy has mistakes or lacks the provider, or the provider returns no list
 */
export async function syncCatalog(
  folder: string,
  name: string,
  judge: JudgeTools,
  today: string,
  paths: readonly string[],
): Promise<CatalogProposal> {
  const { parsed, runtime } = await policyHere(folder, name, judge);
  const setup = runtime.snapshot.providers.get(name);
  const listed = (await foundModels(name, runtime, judge)) ?? (await listedModels(name, runtime));
  const stated = parsed.drafts.providers.named.find((one) => one.name === name)?.data;
  const witnesses = await Promise.all(paths.map((path) => readWitness(path, judge.env, today)));
  const table = new FactsTable(renewTable((await loadFacts()).file, witnesses, today).file);
  const service = stated?.preset ?? stated?.adapter ?? name;
  return propose({
    provider: name,
    isOwnServer: setup?.allowPrivateNetwork === true && setup.accounts[0].apiKeyEnv === null,
    own: modelsOf(name, parsed),
    taken: namesIn(parsed),
    listed,
    factsOf: (id) => table.of(service, id),
    rowsOf: (id) => table.rowsOf(service, id),
    ownFigures: await loadOwnFigures(),
    factsSource: table.source,
    today,
  });
}

/** Loads the policy as `serve` would run it here. Throws UsageError unless the policy has the provider. */
async function policyHere(folder: string, name: string, judge: JudgeTools) {
  const bundle = await readPolicy(folder);
  const { here, parsed } = await toolsFor(folder, bundle, judge);
  const names = parsed.policy.drafts.providers.named.map((one) => one.name);
  if (!names.includes(name))
    throw new UsageError(
      `${policyName(folder)} has no provider \`${name}\`: ${nearestHint(name, names) ?? `it has ${listNames(names)}.`}`,
    );
  const local = await compileCandidate(bundle, here);
  if (isRejected(local)) {
    const idle = idleIn(local.problems);
    throw idle ? nothingServes(folder, idle) : mistakesIn(folder, local.message);
  }
  const { snapshot } = local.runtime;
  const left = snapshot.leftOut.find((one) => one.kind === 'provider' && one.name === name);
  if (!snapshot.providers.has(name)) throw new UsageError(`\`${name}\` cannot be used: ${left?.reason}.`);
  return { runtime: local.runtime, parsed: parsed.policy };
}

const mistakesIn = (folder: string, message: string | null): UsageError =>
  new UsageError(
    `${policyName(folder)}: ${message?.replace(/\.$/, '') ?? `the policy has mistakes. Run ${checkCommand(folder)} to see them`}.`,
  );

async function listedModels(name: string, { accounts }: Runtime): Promise<readonly ListedModel[]> {
  const target = accounts.get(name)?.[0];
  const apiKeyEnv = target?.provider.accounts[0].apiKeyEnv ?? null;
  try {
    const listed = target ? await listModels(target) : null;
    if (listed) return listed;
  } catch (cause) {
    if (!(cause instanceof UpstreamError)) throw cause;
    const { failure } = cause;
    const refused = failure.kind === 'auth' ? ` refuses the key${apiKeyEnv === null ? '' : ` in ${apiKeyEnv}`}` : '';
    throw new UsageError(
      `\`${name}\` at ${target?.provider.baseUrl ?? null}${refused || ' returned no list of models'}: ${failureText(failure)}.`,
    );
  }
  throw new UsageError(`\`${name}\` has no list of models that Signalbox can read.`);
}

/**
 * Asks a server of the operator for its models, as `discover` does.
 * @returns null if the provider is another service, or if the server does not answer
 */
async function foundModels(
  name: string,
  { accounts }: Runtime,
  { env, now }: JudgeTools,
): Promise<readonly ProposableModel[] | null> {
  const target = accounts.get(name)?.[0];
  const network = new UpstreamNetwork();
  const server = target && modelServerOf(target.provider, target, { network, env: (variable) => env.get(variable) });
  const answers = server ? await readServer(server, new Map(), AbortSignal.timeout(WITHIN_MS)) : '';
  if (typeof answers === 'string') return null;
  const memory = { since: new Map(), contexts: new Map(), details: answers.details };
  const { server: found } = foundList(name, answers.list, memory, now());
  return found.models.map(({ upstream, contextWindow, isContextGuessed, ...model }) => ({
    id: upstream,
    name: model.name,
    contextWindow,
    isContextGuessed,
    maxOutput: maxOutputOf(contextWindow),
    capabilities: model.capabilities,
    quality: qualityOf(model),
    ...(!isConversation(model.operation) && { unfit: OPERATIONS[model.operation].serves }),
  }));
}

/** The longest time that a server may take for all answers, ms. */
const WITHIN_MS = 30_000;

/** The names that callers can send as `model`. */
const namesIn = ({ drafts: { models, selectors } }: ParsedPolicy): ReadonlySet<string> =>
  new Set([...models.ids.keys(), ...selectors.aliases.keys(), ...selectors.named.map(({ name }) => name)]);

/** The models that the policy has at a provider. */
const modelsOf = (name: string, { drafts }: ParsedPolicy): PolicyModel[] =>
  drafts.models.drafts.flatMap(({ model, endpoints }) =>
    endpoints
      .filter(({ endpoint }) => endpoint.provider === name)
      .map(({ endpoint, place, usd }) => ({
        id: model.id,
        upstream: endpoint.upstream,
        place: `${basename(place.file)}:${place.line}`,
        usd,
      })),
  );
