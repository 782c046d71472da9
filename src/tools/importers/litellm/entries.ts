import { OPERATION_NAMES, OPERATIONS } from '../../../core/kinds/operations.ts';
import { numberOf } from './amounts.ts';
import { type ProviderConnection, readConnection } from './connection.ts';
import { type ImportContext, isName, looksSecret, textsOf } from './context.ts';
import { type DeploymentFacts, readFacts } from './facts.ts';
import { LEFT_OUT_INFO, LEFT_OUT_PARAMS } from './left-out.ts';
import type { LazyPath, OutcomeRecorder } from './outcomes.ts';
import { bareName, modeOfName, providerOfName, SERVICES, WITHOUT_ADAPTER } from './services.ts';
import { type ConfigNode, NO_MAP, scalarText, valueAt } from './tree.ts';

/** An entry of `model_list` that Signalbox can serve. */
export interface Deployment {
  /** The model name that callers use. Entries with the same name form a group. */
  readonly group: string;
  readonly params: ConfigNode;
  /** LiteLLM's name of the provider. */
  readonly provider: string;
  readonly connection: ProviderConnection;
  /** The provider's own name for the model. */
  readonly upstream: string;
  /** The model without provider and date; null if only the operator knows the model, as for an Azure deployment. */
  readonly bare: string | null;
  readonly facts: DeploymentFacts;
  /** Whether the model embeds instead of answering chats. */
  readonly isEmbedder: boolean;
  /** Whether the names end in `*`, so that the entry stands for any model of its provider. */
  readonly isPattern: boolean;
  readonly id: string | null;
  /** The timeout in ms; null if the entry does not state one. */
  readonly totalMs: number | null;
  readonly firstTokenMs: number | null;
  readonly defaultMaxOutput: number | null;
  readonly regions: readonly string[];
  readonly tags: readonly string[];
  /** The names in the policy; final once all entries are read. */
  readonly assigned: AssignedNames;
}

/** Names that are final once all entries are read. */
interface AssignedNames {
  model: string;
  provider: string;
}

/** A deployment, or a sentence that says why there is none. */
type EntryResult = { readonly deployment: Deployment } | SkippedEntry;

/** An entry that is not served, with the reason in a sentence. The name is null if the entry has none. */
export interface SkippedEntry {
  readonly name: string | null;
  readonly why: string;
}

/** Reads an entry of `model_list`, and records the outcome of every key in it. */
export function readEntry(node: ConfigNode, context: ImportContext): EntryResult {
  const { outcomes } = context;
  const nameNode = valueAt(node, 'model_name');
  const name = scalarText(nameNode);
  const refuse = (at: ConfigNode, why: string): EntryResult => {
    outcomes.problem(at, why);
    outcomes.leftOut(node, `${name ?? 'an entry'}: it could not be read`);
    return { name, why };
  };
  if (node.kind !== 'map') return refuse(node, 'an entry must be a map with model_name and litellm_params');
  if (!nameNode || name === null) return refuse(nameNode ?? node, 'an entry needs a model_name');
  if (looksSecret(name)) return refuse(nameNode, 'the name looks like a key');
  const params = valueAt(node, 'litellm_params');
  if (params?.kind !== 'map')
    return refuse(params ?? nameNode, 'an entry needs litellm_params, a map with model in it');
  const modelNode = valueAt(params, 'model');
  const model = scalarText(modelNode);
  if (!modelNode || model === null)
    return refuse(modelNode ?? params, 'litellm_params needs a model, such as openai/gpt-4o');
  if (looksSecret(model)) return refuse(modelNode, 'the model looks like a key');
  const info = valueAt(node, 'model_info') ?? NO_MAP;
  if (info.kind !== 'map') outcomes.problem(info, 'model_info must be a map');
  const without = unsupportedReason(params, info, name, model);
  if (without !== null) {
    outcomes.leftOut(node, `${name}: ${without}`);
    return { name, why: without };
  }
  if (!isName(name === '*' ? 'all' : name.replace(/\*$/, '')))
    return refuse(
      nameNode,
      'a name must begin with a letter or digit and contain only letters, digits and . _ : / @ + -, at most 120',
    );
  if (/^[\d.]+$/.test(name) && !nameNode.isQuoted)
    outcomes.remark(nameNode, 'the name must be a text; it is read as a text');
  const provider = providerOf(params, model);
  if (provider === null || !SERVICES.has(provider))
    return refuse(
      modelNode,
      'the model names no provider that this importer knows; write the provider before the name, such as openai/',
    );
  const credentialNode = valueAt(params, 'litellm_credential_name');
  const credentialName = scalarText(credentialNode);
  const credential = credentialName === null ? NO_MAP : context.credentials.get(credentialName);
  if (credential === undefined) return refuse(credentialNode ?? params, 'no credential has this name');
  const deployment = deploymentOf(node, credential, { name, model, provider }, context);
  if (!deployment)
    return refuse(valueAt(params, 'api_base') ?? params, 'it must be an address such as https://llm.example.com/v1');
  return { deployment };
}

/** Returns why Signalbox cannot serve an entry that LiteLLM can serve; null if Signalbox can. */
function unsupportedReason(params: ConfigNode, info: ConfigNode, name: string, model: string): string | null {
  const mode = modeOf(info, model);
  if (mode !== null && OTHER_MODES.has(mode))
    return `Only entries for ${IMPORTED.join(' and ')} are imported, but this entry is for ${mode.replaceAll('_', ' ')}`;
  if (mode === 'embedding' && providerOf(params, model) === 'anthropic') return 'Anthropic has no embeddings';
  if (`${name}${model}`.includes('*') && !(PATTERN.test(name) && PATTERN.test(model)))
    return 'a wildcard must have exactly one `*`, at the end of model_name and of model';
  if (valueAt(params, 'mock_response'))
    return 'Signalbox has no fixed answers; the adapter `simulated` answers without a provider';
  const reason = WITHOUT_ADAPTER.get(providerOf(params, model) ?? '');
  return reason === undefined ? null : `${providerOf(params, model)}: ${reason}`;
}

const PATTERN = /^[^*]*\*$/;

/** LiteLLM's mode of an entry, stated or implied by the name; null for chat. */
const modeOf = (info: ConfigNode, model: string): string | null =>
  scalarText(valueAt(info, 'mode')) ?? modeOfName(bareName(model));

/** The modes of LiteLLM by operation, of the operations that this importer reads. */
const MODES_OF: Readonly<Record<'chat' | 'embed', readonly string[]>> = {
  chat: ['chat', 'responses'],
  embed: ['embedding'],
};
const IMPORTED = OPERATION_NAMES.filter((name) => name in MODES_OF).map((name) => OPERATIONS[name].serves);

/** Other modes of LiteLLM. */
const OTHER_MODES: ReadonlySet<string> = new Set([
  ...['completion', 'rerank', 'audio_transcription', 'audio_speech', 'image_generation', 'image_edit'],
  ...['moderation', 'moderations', 'video_generation', 'vector_store', 'ocr', 'search', 'realtime', 'batch'],
]);

function providerOf(params: ConfigNode, model: string): string | null {
  const apart = scalarText(valueAt(params, 'custom_llm_provider'));
  if (apart !== null) return apart;
  const [before, ...rest] = model.split('/');
  return rest.length > 0 ? (before ?? null) : providerOfName(model);
}

/** The names that every entry has. */
type EntryNames = Pick<Deployment, 'provider'> & Readonly<Record<'name' | 'model', string>>;

function deploymentOf(
  entry: ConfigNode,
  credential: ConfigNode,
  { name, model, provider }: EntryNames,
  context: ImportContext,
): Deployment | null {
  const [params, info] = [valueAt(entry, 'litellm_params') ?? NO_MAP, valueAt(entry, 'model_info') ?? NO_MAP];
  const { outcomes } = context;
  const assigned: AssignedNames = { model: name, provider };
  const atModel =
    (...keys: string[]): LazyPath =>
    () => ['models', assigned.model, ...keys];
  const atProvider =
    (key: string): LazyPath =>
    () => ['providers', assigned.provider, key];
  const service = SERVICES.get(provider);
  const param = (key: string) => valueAt(params, key) ?? valueAt(credential, key);
  const connection =
    service &&
    readConnection({ provider, service, base: param('api_base'), key: param('api_key'), at: atProvider }, context);
  if (!connection) return null;
  const { upstream, prefix } = upstreamOf(provider, model);
  const baseModel = scalarText(valueAt(info, 'base_model'));
  const names = [baseModel, model, upstream, baseModel?.slice(baseModel.indexOf('/') + 1)].filter(
    (one) => typeof one === 'string',
  );
  const isEmbedder = MODES_OF.embed.includes(modeOf(info, model) ?? '');
  const facts = readFacts({ info, params, preset: connection.preset, isEmbedder, names, at: atModel }, context);
  outcomes.mapped(valueAt(entry, 'model_name'), atModel());
  const modelNode = valueAt(params, 'model');
  if (prefix === null) outcomes.mapped(modelNode, atModel('upstream'));
  else outcomes.approximated(modelNode, atModel('upstream'), `called through Chat Completions, without \`${prefix}/\``);
  outcomes.mapped(valueAt(params, 'custom_llm_provider'), atModel('provider'));
  outcomes.mapped(valueAt(params, 'litellm_credential_name'), () => ['providers', assigned.provider]);
  const region = valueAt(params, 'region_name') ?? valueAt(info, 'region_name');
  const regions = textsOf(region);
  outcomes.mapped(region, atModel('regions'));
  if (baseModel !== null)
    outcomes.mapped(valueAt(info, 'base_model'), atModel(), 'its facts are looked up under this name');
  const mode = valueAt(info, 'mode');
  if (mode && isEmbedder) outcomes.mapped(mode, atModel('operations'));
  else if (mode && MODES_OF.chat.includes(scalarText(mode) ?? '')) outcomes.mapped(mode, atModel());
  else if (mode) outcomes.problem(mode, 'LiteLLM has no such mode; the entry is treated as chat');
  const deadline = (key: string, name: string, differs?: string) =>
    millisecondsOf(valueAt(params, key), atModel('deadlines', name), outcomes, differs);
  const deployment: Deployment = {
    group: name,
    params,
    provider,
    connection,
    upstream,
    bare: baseModel === null && provider === 'azure' ? null : bareName(baseModel ?? upstream),
    facts,
    isEmbedder,
    isPattern: name.endsWith('*'),
    id: scalarText(valueAt(info, 'id')),
    totalMs: deadline('timeout', 'total_ms', 'for all attempts together; LiteLLM counts each attempt'),
    firstTokenMs: deadline('stream_timeout', 'first_token_ms'),
    defaultMaxOutput: capOf(valueAt(params, 'max_tokens'), atModel('default_max_output'), outcomes),
    regions,
    tags: tagsOf(params, info, atModel('tags'), outcomes),
    assigned,
  };
  outcomes.approximated(
    valueAt(info, 'id'),
    atModel(),
    'endpoints have no names; fallbacks that name one mean its model',
  );
  reportRest(params, info, outcomes);
  return deployment;
}

/** A prefix that selects an API of the provider and is not part of the model's name. */
const API_PREFIX = /^(responses|o_series|gpt5_series)\/(.+)$/;

/** The provider's own name for a model. The provider may precede the name even if `custom_llm_provider` states it. */
function upstreamOf(provider: string, model: string): { readonly upstream: string; readonly prefix: string | null } {
  const name = model.startsWith(`${provider}/`) ? model.slice(provider.length + 1) : model;
  const [, prefix, rest] = (['openai', 'azure'].includes(provider) && API_PREFIX.exec(name)) || [];
  return { upstream: rest ?? name, prefix: prefix ?? null };
}

/** Converts seconds to milliseconds; null if the value is absent or invalid. */
export function millisecondsOf(
  node: ConfigNode | undefined,
  to: LazyPath,
  outcomes: OutcomeRecorder,
  differs = '',
): number | null {
  const seconds = numberOf(node, outcomes, 'seconds, as a number');
  if (seconds === null || !node) return null;
  const ms = Math.min(86_400_000, Math.max(1, Math.round(seconds * 1000)));
  if (differs === '') outcomes.mapped(node, to, 'seconds, now milliseconds');
  else outcomes.approximated(node, to, differs);
  return ms;
}

function capOf(node: ConfigNode | undefined, to: LazyPath, outcomes: OutcomeRecorder): number | null {
  const cap = numberOf(node, outcomes, 'a whole number of tokens');
  if (cap === null || !Number.isInteger(cap) || cap < 1) return null;
  outcomes.mapped(node, to, 'the cap for a request that states none');
  return cap;
}

const TAG_NOTE =
  'they are tags of the model, for rules such as `require: \'"TAG" in model.tags\'`; requests and keys cannot select by them';

function tagsOf(params: ConfigNode, info: ConfigNode, to: LazyPath, outcomes: OutcomeRecorder): string[] {
  const read = (node: ConfigNode | undefined): string[] => {
    if (!node) return [];
    if (node.kind !== 'list') outcomes.remark(node, 'a list is meant; it is read as a list of one');
    const tags = textsOf(node).filter((tag) => tag.length <= 64 && !looksSecret(tag));
    outcomes.approximated(node, to, TAG_NOTE);
    return tags;
  };
  return [...new Set([...read(valueAt(info, 'access_groups')), ...read(valueAt(params, 'tags'))])];
}

const OTHER_RATE =
  'tokens have a price as input, cached input, cache writes or output, and other tokens count as one of these; `per_request` and `tool_uses` of a price are for the rest';
const OF_REQUESTS = 'callers send this parameter themselves; Signalbox adds none';

/** Keys that can be read only after all entries: the shares of a group, limits, and budgets. */
export const READ_LATER: readonly string[] = [
  ...['order', 'weight', 'rpm', 'tpm', 'max_parallel_requests'],
  ...['max_budget', 'budget_duration'],
];

function reportRest(params: ConfigNode, info: ConfigNode, outcomes: OutcomeRecorder): void {
  const report = (owner: ConfigNode, reasons: ReadonlyMap<string, string>, usual: string) =>
    outcomes.leaveRest(owner, (key, node) =>
      outcomes.has(node) || (owner === params && READ_LATER.includes(key))
        ? undefined
        : (reasons.get(key) ?? (/_cost_per_|_cost$/.test(key) ? OTHER_RATE : usual)),
    );
  report(params, LEFT_OUT_PARAMS, OF_REQUESTS);
  report(info, LEFT_OUT_INFO, 'Signalbox does not use this fact of a model');
}
