import file from './services.json' with { type: 'json' };

/** A provider of LiteLLM that Signalbox can reach. */
export interface LitellmService {
  /** The preset of the adapter. Without a preset, the policy names only the adapter. */
  readonly preset?: string;
  /** The variable of LiteLLM's key, if the service needs a key. */
  readonly keyEnv?: string;
  /** The variable of the key if the policy states none; by default `keyEnv`. */
  readonly presetKeyEnv?: string;
  /** Whether this is the operator's own server, which needs an address and may be private. */
  readonly isOwn?: boolean;
  /** The default address. */
  readonly baseUrl?: string;
  /** The variable that has LiteLLM's address. */
  readonly baseEnv?: string;
}

/** Services by the prefix of `litellm_params.model` before the first `/`. */
export const SERVICES: ReadonlyMap<string, LitellmService> = new Map(
  Object.entries<LitellmService>(file.services).map(([prefix, service]) => [
    prefix,
    service.preset === undefined ? service : { presetKeyEnv: service.keyEnv, ...service },
  ]),
);

/** LiteLLM's providers for which Signalbox has no adapter, with an alternative. */
export const WITHOUT_ADAPTER: ReadonlyMap<string, string> = new Map(
  file.without_adapter.flatMap(({ providers, instead }) =>
    providers.flatMap((line) => line.split(' ')).map((name) => [name, instead] as const),
  ),
);

type NameForm = readonly [form: RegExp, is: string];
const formsOf = (rows: readonly { readonly form: string; readonly is: string }[]): readonly NameForm[] =>
  rows.map(({ form, is }) => [new RegExp(form), is]);
const meaningOf = (name: string, forms: readonly NameForm[]): string | null =>
  forms.find(([form]) => form.test(name))?.[1] ?? null;

const KNOWN_NAMES = formsOf(file.known_names);
const OTHER_MODES = formsOf(file.other_modes);

/** The provider of a model name without a prefix; null if LiteLLM would not know it either. */
export const providerOfName = (name: string): string | null => meaningOf(name, KNOWN_NAMES);

/** The mode that a model's name implies if no `mode` is stated; null if the model may be for chat. */
export const modeOfName = (bare: string): string | null => meaningOf(bare, OTHER_MODES);

/** A model name without provider and date. The bare name is the same for all deployments of a model. */
export function bareName(name: string): string {
  const last = name.slice(name.lastIndexOf('/') + 1);
  return last.toLowerCase().replace(/[-@](?:\d{4}-\d{2}-\d{2}|\d{8})$/, '');
}

/** Whether a model reasons before it answers and therefore rejects a temperature. */
export const isReasoner = (bare: string): boolean => /^(?:o[1-9](?:-|$)|gpt-[5-9])/.test(bare);

/** The capabilities to assume if neither the configuration nor the catalog states any. */
export const usualCapabilities = (provider: string): readonly string[] =>
  ['openai', 'azure', 'anthropic', 'gemini'].includes(provider) ? ['tools', 'vision', 'json_schema'] : ['tools'];
