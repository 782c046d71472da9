import { asName, asVariable, CAPITALS, type ImportContext, looksSecret, variableReference } from './context.ts';
import type { LazyPath } from './outcomes.ts';
import type { LitellmService } from './services.ts';
import { type ConfigNode, scalarText } from './tree.ts';

/** How to reach a deployment. Deployments with equal connections share a provider of the policy. */
export interface ProviderConnection {
  readonly preset: string | null;
  /** Null if there is a preset, which implies the adapter. */
  readonly adapter: string | null;
  readonly baseUrl: string | null;
  readonly baseUrlEnv: string | null;
  /** Null for the variable of the preset, or for no key. */
  readonly keyEnv: string | null;
  readonly isPrivate: boolean;
  /** Whether the connection leads to the operator's own server, where tokens cost nothing. */
  readonly isOwn: boolean;
  /** Candidate names for the provider, the shortest first. */
  readonly names: readonly string[];
  /** A note for readers of the policy. */
  readonly comment: string | null;
}

/** The connection settings of a deployment, including the settings of its credential. */
interface ConnectionSource {
  readonly provider: string;
  readonly service: LitellmService;
  readonly base: ConfigNode | undefined;
  readonly key: ConfigNode | undefined;
  /** The path in the policy to which a key is converted. */
  readonly at: (key: string) => LazyPath;
}

const NO_VARIABLE = 'there is no name of a variable after os.environ/';

/** Placeholder keys for clients that require a key. */
const DUMMY =
  /^(?:none|null|empty|fake|fake-key|dummy|dummy-key|no-?key|not-?needed|not-?required|anything|x+|lm-studio|ollama|na|n\/a)$/i;

/**
 * Reads the address and key of a deployment.
 * @returns null after reporting a problem
 */
export function readConnection(parts: ConnectionSource, context: ImportContext): ProviderConnection | null {
  const address = readAddress(parts, context);
  if (address === null) return null;
  const isElsewhere = address.url !== null || address.env !== null;
  // OpenAI's name with another address means any server with OpenAI's API.
  const isAnyServer =
    parts.provider === 'openai' && isElsewhere && !/^https:\/\/(?:[a-z]+\.)?api\.openai\.com\//.test(address.url ?? '');
  const service: LitellmService = isAnyServer ? { isOwn: true } : parts.service;
  const { preset = null, isOwn = false, presetKeyEnv = null } = service;
  const host = hostOf(address.url);
  const anyKeyEnv = readKey({ ...parts, isOwn, host }, context);
  const keyEnv = anyKeyEnv === presetKeyEnv ? null : anyKeyEnv;
  const isPrivate = host !== null && isPrivateName(host, address.url ?? '');
  return {
    preset,
    adapter: preset === null ? 'openai-compatible' : null,
    baseUrl: address.url,
    baseUrlEnv: address.env,
    keyEnv,
    isPrivate: isPrivate && !['ollama', 'vllm', 'lm-studio', 'llama-cpp'].includes(preset ?? ''),
    isOwn: isOwn && (isPrivate || preset !== null),
    names: namesFor(parts, preset, address, keyEnv),
    comment: address.comment,
  };
}

const MAY_BE_PRIVATE = 'where it is a name within a private network, the provider needs `allow_private_network: true`';

interface Address {
  readonly url: string | null;
  readonly env: string | null;
  readonly comment: string | null;
}

function readAddress(
  { provider, service, base, at }: ConnectionSource,
  { outcomes, todo }: ImportContext,
): Address | null {
  const text = scalarText(base);
  const ending = endingOf(provider, service);
  const isNamedAlone = provider === 'openai' || (service.isOwn && !service.preset);
  const mustEnd = isNamedAlone ? MAY_BE_PRIVATE : ending && `its value must end in ${ending}`;
  const inVariable = (env: string, note: string): Address => {
    const server = provider === 'openai' ? 'a server with OpenAI’s API' : provider;
    todo.need(env, `the address of ${server}${ending && `, ending in ${ending}`}`);
    return { url: null, env, comment: note || null };
  };
  if (!base || text === null) {
    const { baseUrl = null, baseEnv, isOwn } = service;
    if (baseEnv && !baseUrl) return inVariable(baseEnv, mustEnd);
    return isOwn && !baseUrl
      ? inVariable(`${asVariable(provider)}_BASE_URL`, '')
      : { url: baseUrl, env: null, comment: null };
  }
  const reference = variableReference(text);
  if (reference === '') return outcomes.problem(base, NO_VARIABLE);
  if (reference !== null) {
    const env = CAPITALS.test(reference) ? reference : asVariable(reference);
    const note = [env !== reference && `the variable is now ${env}: policies need capital letters`, mustEnd]
      .filter(Boolean)
      .join('; ');
    if (note) outcomes.approximated(base, at('base_url_env'), note);
    else outcomes.mapped(base, at('base_url_env'));
    return inVariable(env, mustEnd);
  }
  const url = plainUrl(text);
  if (url === null) {
    if (!URL.canParse(text)) return outcomes.problem(base, 'it must be an address such as https://llm.example.com/v1');
    const env = todo.invent(`${asVariable(provider)}_BASE_URL`, text);
    outcomes.approximated(
      base,
      at('base_url_env'),
      `the address is not copied, as it has a user, a query or a possible key; put it into ${env}, without user and query`,
    );
    return inVariable(env, mustEnd);
  }
  // LiteLLM appends the version to every Anthropic address, and to other addresses only if they have no path.
  const isBare = new URL(url).pathname === '/' || (provider === 'anthropic' && !url.endsWith(ending));
  const whole = isBare ? url + ending : url;
  if (whole === url) outcomes.mapped(base, at('base_url'));
  else outcomes.mapped(base, at('base_url'), `with ${ending}, where the API is`);
  return { url: whole, env: null, comment: null };
}

/** The end of an API address, which states the version. */
function endingOf(provider: string, { isOwn, preset }: LitellmService): string {
  if (provider === 'azure') return '/openai/v1';
  return provider === 'anthropic' || (isOwn && preset) ? '/v1' : '';
}

const LETTERS = /^[A-Za-z]?[a-z]{0,15}$|^[A-Z]{1,15}$/;
const FIGURES = /^\d{1,4}$/;
/** Matches for example `v1`, `v1beta2`, `team7` and `4o`. */
const MIXED = /^v\d{1,2}(?:(?:alpha|beta)\d?)?$|^[a-z]{2,10}\d{1,2}$|^\d{1,2}[a-z]$/i;

/**
 * Whether a path segment consists of words, such as `v1`, `openai` and `gpt-4o`. Any other segment may be an account ID or a key, however
 * short it is.
 */
function isWords(part: string): boolean {
  const words = part === '' ? [] : part.split(/[-_.]/);
  const mixed = words.filter((word) => MIXED.test(word)).length;
  const figures = words.filter((word) => FIGURES.test(word)).length;
  const plain = words.filter((word) => LETTERS.test(word)).length;
  return plain + mixed + figures === words.length && mixed + figures <= 2;
}

/** An address without a trailing slash; null if it is invalid, or has a user, a query or a secret. */
export function plainUrl(text: string): string | null {
  if (!URL.canParse(text) || looksSecret(text)) return null;
  const { protocol, username, password, pathname, search, hash, href } = new URL(text);
  const isPlain = username + password + search + hash === '' && pathname.split('/').every(isWords);
  if (!isPlain || (protocol !== 'http:' && protocol !== 'https:')) return null;
  return href.replace(/\/+$/, '').replace(/\/(?:chat\/completions|completions|embeddings|messages)$/, '');
}

export const hostOf = (url: string | null): string | null => (url === null ? null : new URL(url).hostname);

/** Whether a host name usually belongs to a private network. */
export function isPrivateName(host: string, url: string): boolean {
  return (
    url.startsWith('http:') ||
    !host.includes('.') ||
    /\.(?:internal|local|lan|lab|home|svc|intranet|corp|test|example)$|\.svc\./.test(host)
  );
}

function readKey(
  { provider, service, key, at, isOwn, host }: ConnectionSource & { isOwn: boolean; host: string | null },
  { outcomes, todo }: ImportContext,
): string | null {
  const usual = isOwn ? null : (service.keyEnv ?? null);
  const note = (name: string | null, what: string): string | null => {
    if (name !== null) todo.need(name, what);
    return name;
  };
  const server = host ?? (provider === 'openai' ? 'a server with OpenAI’s API' : provider);
  const what = `the key for ${isOwn ? server : provider}`;
  const text = scalarText(key);
  if (!key || text === null) {
    if (usual !== null) todo.refer(usual);
    return note(usual, what);
  }
  const reference = variableReference(text);
  if (reference !== null && CAPITALS.test(reference)) {
    outcomes.mapped(key, at('api_key_env'));
    return note(reference, what);
  }
  if (reference === '') return outcomes.problem(key, NO_VARIABLE) ?? note(usual, what);
  const named = reference ? asVariable(reference) : null;
  if (isOwn && DUMMY.test(text)) {
    outcomes.mapped(key, at('adapter'), 'a placeholder that no server checks: no key is sent');
    return null;
  }
  const wanted = usual ?? `${asVariable(isOwn && host !== null ? labelOf(host) : provider)}_API_KEY`;
  const isMisspelt = /^os\.[a-z]{3,12}[/.]/i.test(text) && reference === null;
  const invented = named ?? (isMisspelt ? wanted : todo.invent(wanted, text));
  if (reference !== null) {
    outcomes.approximated(key, at('api_key_env'), `the variable is now ${invented}: policies need capital letters`);
  } else if (isMisspelt) {
    outcomes.problem(key, `it looks like a misspelt os.environ/ reference; the policy reads ${invented}`);
  } else {
    outcomes.approximated(key, at('api_key_env'), `keys are never copied; put it into ${invented}`);
  }
  return note(invented, what);
}

const labelOf = (host: string): string => (/^[\d.]+$|:/.test(host) ? host : host.split('.').slice(0, 1).join(''));

/** Candidate names for the provider, the shortest first. */
function namesFor(
  { provider }: ConnectionSource,
  preset: string | null,
  { url, env }: Address,
  keyEnv: string | null,
): string[] {
  const stem = preset ?? (provider === 'openai' || provider === 'openai_like' ? 'server' : provider);
  const short = preset === 'azure-openai' ? 'azure' : asName(stem);
  const ofVariable = (name: string | null) =>
    asName((name ?? '').replace(/(?:^|_)(?:API|KEY|BASE|URL|TOKEN|ENDPOINT)(?=_|$)/g, '')).replace(
      new RegExp(`^${short}-?`),
      '',
    );
  const words = [ofVariable(keyEnv), ofVariable(env)].filter((word) => !/^\d*$/.test(word));
  const names = words.map((word) => `${short}-${word}`);
  const host = hostOf(url);
  if (url !== null && host !== null) {
    const label = asName(labelOf(host));
    const { port } = new URL(url);
    const atHost = preset === null ? [label, ...(port ? [`${label}-${port}`] : [])] : [`${short}-${label}`];
    return [
      ...(preset === 'azure-openai' ? names : []),
      ...atHost,
      ...(port ? [`${short}-${label}-${port}`] : []),
      ...names,
    ];
  }
  return names.length > 0 ? names : [asName(stem)];
}
