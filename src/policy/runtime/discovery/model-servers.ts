import type { ServedFacts } from '../../../contract/model-server.ts';
import { type FoundModels, type FoundServer, foundText, lackText } from '../../../core/policy/found-models.ts';
import { plural } from '../../../core/text/text.ts';
import { type Timer, type Timers, within } from '../../../core/time/timers.ts';
import type { UpstreamNetwork } from '../../../providers/connection/network.ts';
import type { Health } from '../../../providers/health/health.ts';
import type { Runtime } from '../runtime.ts';
import { hashOf } from '../source.ts';
import { foundList } from './found-list.ts';
import { type ModelServer, modelServerOf, readServer } from './read-server.ts';

const POLL_EVERY_MS = 30_000;
/** The shortest time between two polls of a server, ms. */
const POLL_AFTER_MS = 5_000;
/** The longest time of a poll, ms. */
const POLL_MS = 10_000;
/** The longest time that a start waits for the first answers, ms. */
const START_MS = 2_000;
/** The shortest time between two builds, except the first build and builds with more models, ms. */
const BUILD_AFTER_MS = 60_000;
/** The number of hexadecimal digits of a hash of found models. */
const HASH_LENGTH = 8;

/** The facts about one server that are kept between starts. */
export interface KeptServer {
  readonly provider: string;
  /** Identifies the address and the key of the server. */
  readonly origin: string;
  readonly server: FoundServer;
  readonly contexts: readonly (readonly [identity: string, tokens: number])[];
}

/** The content of the file in the data folder. */
export interface KeptModels {
  readonly servers: readonly KeptServer[];
  readonly used: readonly string[];
}

export interface ModelServersOptions {
  readonly health: Health;
  readonly network: UpstreamNetwork;
  /** Reads an environment variable, for proxies. */
  readonly env: (name: string) => string | undefined;
  readonly timers: Timers;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Milliseconds on a clock that never goes back. */
  readonly clock: () => number;
  /** The content of the file in the data folder; null for none. */
  readonly kept: KeptModels | null;
  /** Writes the file in the data folder. `keep` never throws. */
  keep(models: KeptModels): void;
  /** Reports a server that does not answer, or a list that is not used completely. Each problem is reported once. */
  warn(message: string, fields: Readonly<Record<string, string>>): void;
  /** Reports a model whose context has changed. */
  info(message: string, fields: Readonly<Record<string, string>>): void;
}

interface WatchedServer {
  readonly provider: string;
  readonly origin: string;
  readonly server: ModelServer;
  found: FoundServer | null;
  contexts: ReadonlyMap<string, number>;
  details: ReadonlyMap<string, ServedFacts>;
  poll: Promise<void> | null;
  /** When the last poll began, ms of the clock. */
  begunAt: number;
  /** The next poll, if one was requested too early. */
  next: Timer | null;
  /** The problem that was reported last; empty for none. */
  problem: string;
}

/**
 * Polls the servers of the operator for their models, regularly and after a request for an unknown model. Keeps the last list of a
 * server that does not answer. State: found models.
 */
export class ModelServers {
  readonly #options: ModelServersOptions;
  readonly #servers = new Map<string, WatchedServer>();
  readonly #used: Set<string>;
  #kept: ReadonlyMap<string, KeptServer>;
  #input: FoundModels | null = null;
  #build: (() => Promise<void>) | null = null;
  #builtAt = Number.NEGATIVE_INFINITY;
  #pendingBuild: Timer | null = null;
  #polling: Timer | null = null;
  /** The content that was written last. */
  #written = '';

  constructor(options: ModelServersOptions) {
    this.#options = options;
    this.#kept = new Map((options.kept?.servers ?? []).map((one) => [keyOf(one), one]));
    this.#used = new Set(options.kept?.used);
  }

  /** The models that were found; null if no provider of the policy is a server whose models can be found, or nothing was ever found. */
  readonly input = (): FoundModels | null => this.#input;

  /** Follows the servers of a policy, and polls them; resolves after two seconds at the latest. */
  async begin(runtime: Runtime): Promise<void> {
    this.#watch(runtime);
    const polls = [...this.#servers.values()].map((one) => this.#poll(one));
    if (polls.length > 0) await within(this.#options.timers, START_MS, Promise.all(polls), []);
  }

  /** Polls the servers regularly from now on. @param build builds the active policy again with the found models */
  run(build: () => Promise<void>): void {
    this.#build = build;
    this.#builtAt = this.#options.clock();
    this.#pollRegularly();
    this.#save();
    // A server may have answered between `begin` and `run`.
    void build();
  }

  /** Follows the servers of the active policy, and polls them. */
  follow(runtime: Runtime): void {
    this.#watch(runtime);
    this.pollAll();
  }

  /** Runs the timer of the polls only while there are servers to poll. */
  #pollRegularly(): void {
    const isNeeded = this.#build !== null && this.#servers.size > 0;
    if (isNeeded) this.#polling ??= this.#options.timers.every(POLL_EVERY_MS, () => this.pollAll());
    else {
      this.#polling?.close();
      this.#polling = null;
    }
  }

  /** Polls all servers, or each as soon as it may be polled again. */
  pollAll(): void {
    for (const one of this.#servers.values()) this.#request(one);
  }

  /** Polls the server of a provider whose address or key has this identity, after it did not know a model. */
  missed(origin: string): void {
    for (const one of this.#servers.values()) if (one.origin === origin) this.#request(one);
  }

  close(): void {
    this.#polling?.close();
    this.#pendingBuild?.close();
    for (const { next } of this.#servers.values()) next?.close();
    this.#servers.clear();
    this.#build = null;
  }

  #watch({ snapshot, accounts }: Runtime): void {
    const watched = new Set<string>();
    for (const provider of snapshot.providers.values()) {
      // All accounts have the same models.
      const target = accounts.get(provider.name)?.[0];
      const server = provider.discover && target && modelServerOf(provider, target, this.#options);
      if (!server) continue;
      const origin = target.key;
      const key = keyOf({ provider: provider.name, origin });
      watched.add(key);
      if (this.#servers.has(key)) continue;
      const kept = this.#kept.get(key);
      this.#servers.set(key, {
        provider: provider.name,
        origin,
        server,
        found: kept?.server ?? null,
        contexts: new Map(kept?.contexts),
        details: new Map(),
        poll: null,
        begunAt: Number.NEGATIVE_INFINITY,
        next: null,
        problem: '',
      });
    }
    for (const [key, { next, provider, origin }] of this.#servers) {
      if (watched.has(key)) continue;
      next?.close();
      this.#options.health.listed(provider, origin, null);
      this.#servers.delete(key);
    }
    this.#pollRegularly();
    this.#refresh();
  }

  #request(one: WatchedServer): void {
    if (one.poll || one.next) return;
    const waitMs = one.begunAt + POLL_AFTER_MS - this.#options.clock();
    if (waitMs <= 0) return void this.#poll(one);
    one.next = this.#options.timers.after(waitMs, () => {
      one.next = null;
      if (this.#servers.has(keyOf(one))) void this.#poll(one);
    });
    one.next.unref();
  }

  #poll(one: WatchedServer): Promise<void> {
    one.poll ??= this.#ask(one).finally(() => {
      one.poll = null;
    });
    return one.poll;
  }

  async #ask(one: WatchedServer): Promise<void> {
    const { now, clock, timers, health } = this.#options;
    one.begunAt = clock();
    const controller = new AbortController();
    const timer = timers.after(POLL_MS, () => controller.abort());
    const answers = await readServer(one.server, one.details, controller.signal);
    timer.close();
    if (this.#servers.get(keyOf(one)) !== one) return;
    if (typeof answers === 'string') {
      health.listed(one.provider, one.origin, null);
      const last = one.found ? 'its last list stays' : 'no earlier list is known, so it serves no found model';
      this.#report(one, answers, `the models of a server cannot be listed; ${last}`);
      return;
    }
    const since = new Map((one.found?.models ?? []).map((model) => [model.upstream, model.since]));
    const { contexts, details } = { contexts: one.contexts, details: answers.details };
    const { server, leftOut, ...seen } = foundList(one.provider, answers.list, { since, contexts, details }, now());
    for (const fields of changedContexts(one.found, server))
      this.#options.info('the context of a model changed', fields);
    Object.assign(one, { found: server, contexts: seen.contexts, details });
    const { addCommand } = one.server.reader;
    const remedyFor = (upstream: string) => lackText(one.provider, upstream, addCommand);
    health.listed(one.provider, one.origin, server.names && { names: server.names, remedyFor });
    const problem = leftOut === 0 ? '' : `${plural(leftOut, 'model')} left out`;
    this.#report(
      one,
      problem,
      'some models of a server are left out: their names are not allowed in a policy, or the list is too long',
    );
    this.#refresh();
  }

  /** Reports a problem once, until it changes. */
  #report(one: WatchedServer, problem: string, message: string): void {
    if (problem !== '' && problem !== one.problem)
      this.#options.warn(message, { provider: one.provider, reason: problem });
    one.problem = problem;
  }

  /** Makes the input of the next build, and builds if it has changed. */
  #refresh(): void {
    const servers = [...this.#servers.values()].flatMap(({ found }) => found ?? []);
    servers.sort((a, b) => (a.provider < b.provider ? -1 : 1));
    for (const { provider, models } of servers)
      if (models.some(({ operation }) => operation === 'chat')) this.#used.add(provider);
    const before = this.#input;
    // No simulated model answers in place of a server that has not answered yet.
    const silent = [...this.#servers.values()].flatMap(({ found, provider }) => (found === null ? [provider] : []));
    const content = { servers, used: [...this.#used.union(new Set(silent))].sort() };
    const text = foundText(content);
    const isNone = servers.length === 0 && content.used.length === 0;
    this.#input = isNone ? null : { hash: hashOf(text).slice(0, HASH_LENGTH), ...content };
    if (this.#input?.hash === before?.hash) return;
    this.#save();
    this.#rebuild(isAddition(before, this.#input));
  }

  #rebuild(isUrgent: boolean): void {
    const { clock, timers } = this.#options;
    if (!this.#build) return;
    const waitMs = isUrgent ? 0 : this.#builtAt + BUILD_AFTER_MS - clock();
    if (waitMs > 0 && this.#pendingBuild) return;
    this.#pendingBuild?.close();
    this.#pendingBuild = null;
    const build = () => {
      this.#pendingBuild = null;
      this.#builtAt = clock();
      void this.#build?.();
    };
    if (waitMs <= 0) build();
    else {
      this.#pendingBuild = timers.after(waitMs, build);
      this.#pendingBuild.unref();
    }
  }

  #save(): void {
    if (!this.#build) return;
    const servers = [...this.#servers.values()].flatMap(({ provider, origin, found, contexts }): KeptServer[] =>
      found ? [{ provider, origin, server: found, contexts: [...contexts] }] : [],
    );
    const others = [...this.#kept.values()].filter((one) => !this.#servers.has(keyOf(one)));
    const kept = { servers: [...servers, ...others], used: [...this.#used].sort() };
    const text = JSON.stringify(kept);
    if (text === this.#written || (text === EMPTY && this.#written === '')) return;
    this.#written = text;
    this.#kept = new Map(kept.servers.map((one) => [keyOf(one), one]));
    this.#options.keep(kept);
  }
}

const EMPTY = JSON.stringify({ servers: [], used: [] });

const keyOf = ({ provider, origin }: Pick<WatchedServer, 'provider' | 'origin'>): string =>
  JSON.stringify([provider, origin]);

/** Returns the models whose context differs from the last list: `states 32,768; 4,096 before`. */
function changedContexts(before: FoundServer | null, after: FoundServer): Readonly<Record<string, string>>[] {
  const known = new Map((before?.models ?? []).map(({ upstream, contextWindow }) => [upstream, contextWindow]));
  return after.models.flatMap(({ upstream, name, contextWindow }) => {
    const former = known.get(upstream);
    if (former === undefined || former === contextWindow) return [];
    const context = `states ${contextWindow.toLocaleString('en')}; ${former.toLocaleString('en')} before`;
    return [{ model: `${after.provider}/${name}`, context }];
  });
}

/** Whether models were added or names got other weights, so that a build should not wait. */
function isAddition(before: FoundModels | null, after: FoundModels | null): boolean {
  const idsIn = (found: FoundModels | null) =>
    (found?.servers ?? []).flatMap(({ provider, models, digests }) => [
      ...models.map(({ name }) => `${provider}/${name}`),
      ...digests.map((one) => JSON.stringify([provider, ...one])),
    ]);
  const known = new Set(idsIn(before));
  return idsIn(after).some((id) => !known.has(id));
}
