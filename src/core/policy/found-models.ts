import type { Operation } from '../kinds/operations.ts';
import type { Capability } from '../request/capability.ts';
import { hasBit } from './rules.ts';

/** A model that Signalbox found at a server of the operator. */
export interface FoundModel {
  /** The server's name of the model. */
  readonly upstream: string;
  /** The part of the model's ID after `PROVIDER/`. */
  readonly name: string;
  /** Tokens of input and output together. */
  readonly contextWindow: number;
  /** Whether the server does not state the context that it uses, so that `contextWindow` is a low guess. */
  readonly isContextGuessed: boolean;
  /** The number of parameters; null if the server does not state it. */
  readonly parameters: number | null;
  readonly capabilities: readonly Capability[];
  readonly operation: Operation;
  /** Whether the model fills the gap between two texts; absent if the server does not state it. */
  readonly inserts?: boolean;
  /** The length of a vector; null for a model that does not embed. */
  readonly dimensions: number | null;
  /** When the model was first found, ms since 1970. */
  readonly since: number;
}

/** The models of one server, as it listed them last. */
export interface FoundServer {
  readonly provider: string;
  readonly models: readonly FoundModel[];
  /** All names that the server listed, ascending; null if a name that is not in the list may still be served. */
  readonly names: readonly string[] | null;
  /** Each name whose weights the server identifies, ascending. Equal digests mean equal weights. */
  readonly digests: readonly (readonly [upstream: string, digest: string])[];
}

/** All models that were found: the second input of a build, after the files of the policy. */
export interface FoundModels {
  /** Identifies the content of `servers` and `used`. */
  readonly hash: string;
  /** By provider, ascending. */
  readonly servers: readonly FoundServer[];
  /**
   * The providers at which a model for chats was ever found, or whose server has not answered yet, ascending. With one of them set up,
   * simulated models do not serve.
   */
  readonly used: readonly string[];
}

/** The fields of a model in a snapshot that discovery decides. */
export interface FoundMark {
  readonly provider: string;
  /** Whether selectors never choose the model, so that it serves only requests that name it. */
  readonly isNamedOnly: boolean;
  readonly isContextGuessed: boolean;
  /** False if the server states that the model does not fill the gap between two texts. */
  readonly inserts?: boolean;
  /** When the model was first found, ms since 1970. */
  readonly since: number;
}

/** Returns the figures of a found model that are guesses. */
export const guessesIn = ({ isContextGuessed }: Pick<FoundMark, 'isContextGuessed'>): readonly string[] =>
  isContextGuessed ? ['quality', 'context'] : ['quality'];

/** Whether a selector may choose a model. @param index of the model in the snapshot */
export const mayChoose = (
  { allows }: { readonly allows: Uint32Array | null },
  { found }: { readonly found?: FoundMark },
  index: number,
): boolean => found?.isNamedOnly !== true && (allows === null || hasBit(allows, index));

/** Returns the text that is stored with a revision. Equal found models have equal texts. */
export const foundText = ({ servers, used }: Omit<FoundModels, 'hash'>): string => JSON.stringify({ servers, used });

/** Returns whether a server has certainly no model of a name. The tag `:latest` is the default of a name. */
export function isMissing(
  { servers }: Pick<FoundModels, 'servers'>,
  { provider, upstream }: { readonly provider: string; readonly upstream: string },
): boolean {
  const names = servers.find((one) => one.provider === provider)?.names;
  return names != null && !names.some((name) => isSameName(name, upstream));
}

/** Writes that a server lacks a model, and how to add it: ``ollama has no `x`: `ollama pull x` ``. */
export const lackText = (provider: string, upstream: string, addCommand?: string): string =>
  `${provider} has no \`${upstream}\`${addCommand === undefined ? '' : `: \`${addCommand} ${upstream}\``}`;

/** Writes each model of a policy that its server lacks, and how to add it. */
export function lacksIn({ models, found, providers }: LackingPolicy): readonly string[] {
  if (found === null) return [];
  const lacking = models.flatMap(({ endpoints }) => endpoints.filter((one) => isMissing(found, one)));
  return lacking.map(({ provider, upstream }) => lackText(provider, upstream, providers.get(provider)?.addCommand));
}

interface LackingPolicy {
  readonly models: readonly {
    readonly endpoints: readonly { readonly provider: string; readonly upstream: string }[];
  }[];
  readonly found: Pick<FoundModels, 'servers'> | null;
  readonly providers: ReadonlyMap<string, { readonly addCommand?: string }>;
}

/** Whether two names of a server mean the same model. */
export const isSameName = (one: string, other: string): boolean => withoutLatest(one) === withoutLatest(other);

export const withoutLatest = (name: string): string => name.replace(/:latest$/, '');

/** Returns the same text for all spellings with which Ollama finds a model: `BIG`, `library/big:latest` and `big`. */
export const plainName = (name: string): string =>
  withoutLatest(name.toLowerCase()).replace(/^(?:registry\.ollama\.ai\/)?(?:library\/)?/, '');

/** The name that lists of models use for all models of a provider. */
export const allOf = (provider: string): string => `${provider}/*`;
