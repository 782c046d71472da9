import type { ServedFacts, ServedList, ServedModel } from '../../../contract/model-server.ts';
import { ITEM_NAME } from '../../../core/define/policy-words.ts';
import { hasVectors, isConversation } from '../../../core/kinds/operations.ts';
import type { FoundModel, FoundServer } from '../../../core/policy/found-models.ts';
import { withoutLatest } from '../../../core/policy/found-models.ts';
import { isWellFormed } from '../../models/same-model.ts';

/** The most models of a list. */
export const MODELS_MAX = 500;

/** The context of a model whose server does not state it: the usual default of model servers, in tokens. */
const CONTEXT_GUESS = 4_096;
const CONTEXT_MAX = 100_000_000;
const DIMENSIONS_MAX = 65_536;
/** The longest name of a server that is kept, in characters. */
const UPSTREAM_MAX = 1_024;

const NAME = new RegExp(ITEM_NAME.pattern);

/** The facts about models that earlier answers of a server gave. */
export interface ServerMemory {
  /** When each model was first found, ms since 1970, by the server's name. */
  readonly since: ReadonlyMap<string, number>;
  /** The context that each model used when it was last seen loaded, in tokens, by the identity of its weights. */
  readonly contexts: ReadonlyMap<string, number>;
  /** The facts that the list lacks, by the identity of the weights. */
  readonly details: ReadonlyMap<string, ServedFacts>;
}

/** A list as Signalbox uses it. */
export interface FoundList {
  readonly server: FoundServer;
  readonly contexts: ReadonlyMap<string, number>;
  /** How many models were left out, because their names are not allowed in a policy or the list is too long. */
  readonly leftOut: number;
}

/** The identity of a model's weights: a server can have the same weights under several names. Without a digest it is the name. */
export const identityOf = ({ digest, upstream }: Pick<ServedModel, 'digest' | 'upstream'>): string =>
  digest ?? upstream;

/**
 * Turns a server's list into models that a policy can serve. This function is pure and accepts any list.
 * @param now ms since 1970
 */
export function foundList(provider: string, list: ServedList, memory: ServerMemory, now: number): FoundList {
  const models = new Map<string, FoundModel>();
  const listed = list.models.slice(0, MODELS_MAX);
  const contexts = contextsInUse(listed, memory);
  let leftOut = list.models.length - listed.length;
  for (const one of listed) {
    const facts: ServedModel = { ...memory.details.get(identityOf(one)), ...one };
    const { upstream } = one;
    const inUse = contexts.get(identityOf(one));
    if (facts.runsElsewhere) continue;
    const name = nameOf(upstream);
    const model =
      isAllowed(`${provider}/${name}`, upstream) && !models.has(name) ? foundModel(name, facts, inUse) : null;
    if (model) models.set(name, { ...model, since: memory.since.get(upstream) ?? now });
    else if (!hasVectors(facts.operation ?? 'chat')) leftOut++;
  }
  const names = listed.map(({ upstream }) => upstream).filter((name) => name.length <= UPSTREAM_MAX);
  const isWhole = list.isComplete && names.length === list.models.length;
  const server: FoundServer = {
    provider,
    models: [...models.values()].sort((a, b) => (a.name < b.name ? -1 : 1)),
    names: isWhole ? [...new Set(names)].sort() : null,
    digests: digestsIn(listed),
  };
  return { server, contexts, leftOut };
}

/** The longest digest that is kept, in characters. */
const DIGEST_MAX = 1_024;

function digestsIn(listed: readonly ServedModel[]): FoundServer['digests'] {
  const digests = new Map<string, string>();
  for (const { upstream, digest } of listed) {
    if (digest !== undefined && digest.length <= DIGEST_MAX && upstream.length <= UPSTREAM_MAX)
      digests.set(upstream, digest);
  }
  return [...digests].sort(([a], [b]) => (a < b ? -1 : 1));
}

/**
 * Returns the context that the weights of each listed model use, or used when they were last loaded. Several names can have the same
 * weights: the smallest context of their loaded models counts.
 */
function contextsInUse(listed: readonly ServedModel[], memory: ServerMemory): ReadonlyMap<string, number> {
  const contexts = new Map<string, number>();
  for (const one of listed) {
    const { contextInUse } = { ...memory.details.get(identityOf(one)), ...one };
    if (contextInUse === undefined) continue;
    const identity = identityOf(one);
    contexts.set(identity, Math.min(contexts.get(identity) ?? contextInUse, contextInUse));
  }
  for (const identity of new Set(listed.map(identityOf))) {
    const before = memory.contexts.get(identity);
    if (before !== undefined && !contexts.has(identity)) contexts.set(identity, before);
  }
  return contexts;
}

/** Returns null for an embedding model whose length of vectors is unknown, because a policy needs it. */
function foundModel(name: string, facts: ServedModel, inUse: number | undefined): Omit<FoundModel, 'since'> | null {
  const { upstream, operation = 'chat', inserts, dimensions, parameters = null, capabilities = [] } = facts;
  const stated = inUse ?? facts.contextWindow;
  const chats = isConversation(operation);
  const embeds = hasVectors(operation);
  if (embeds && (dimensions === undefined || dimensions > DIMENSIONS_MAX)) return null;
  return {
    upstream,
    name,
    contextWindow: Math.min(stated ?? CONTEXT_GUESS, facts.contextMax ?? CONTEXT_MAX, CONTEXT_MAX),
    isContextGuessed: stated === undefined,
    parameters,
    capabilities: chats ? [...capabilities].sort() : [],
    operation,
    ...(inserts !== undefined && chats && { inserts }),
    dimensions: embeds ? dimensions! : null,
  };
}

const isAllowed = (id: string, upstream: string): boolean =>
  upstream.length <= UPSTREAM_MAX && NAME.test(id) && isWellFormed(id);

/** Returns the name of a model in its ID. A name that is the path of a file becomes the name of the file, without its ending. */
function nameOf(upstream: string): string {
  const isPath = /^(?:[/~.]|[A-Za-z]:[\\/])|\\|\.gguf$/i.test(upstream);
  if (!isPath) return withoutLatest(upstream);
  const file = upstream.slice(0, UPSTREAM_MAX).split(/[\\/]/).filter(Boolean).at(-1) ?? '';
  return file.replace(/\.gguf$/i, '');
}
