import type { Facts } from '../../src/core/request/facts.ts';
import { Plan } from '../../src/gateway/exchange/plan.ts';
import { RequestEndpoints } from '../../src/gateway/exchange/spread.ts';
import { Affinity, type PromptHistory } from '../../src/gateway/prompt/affinity.ts';
import { buildRuntime, type Runtime } from '../../src/policy/runtime/runtime.ts';
import { stateAccount, type Upstream } from '../../src/policy/runtime/upstream.ts';
import { Health } from '../../src/providers/health/health.ts';
import { isRefusal } from '../../src/routing/decide.ts';
import { byQuality, facts, loaded, registry } from '../routing/build.ts';
import { chatRequest } from '../support/model-request.ts';
import { PromptCache, type PromptUsage } from '../support/prompt-cache.ts';
import { SimulatedTime, seedFrom } from '../support/simulated-time.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** How long the fake providers keep a prompt after its last use, ms. The policy's default is the same. */
const TTL_MS = 5 * MINUTE_MS;
const CALLERS = 5;
const SECRETS = Object.fromEntries([1, 2, 3, 4, 5].map((number) => [`KEY_${number}`, `secret-${number}`]));

/** An endpoint of the simulated fleet. */
export interface FleetEndpoint {
  readonly name: string;
  readonly weight?: number;
  /** The price of a million input and output tokens, in USD. A cached token costs a tenth of an input token. */
  readonly price?: readonly [input: number, output: number];
  /** The keys of a pool, as flow YAML; absent for one key. */
  readonly keys?: string;
}

/** Returns the policy of a fleet with one model. */
export function fleetPolicy(spread: string, endpoints: readonly FleetEndpoint[]): string {
  const providers = endpoints.map(({ name, keys }) => {
    const key = keys === undefined ? 'api_key_env: KEY_1' : `api_keys_env: [${keys}]`;
    return `  ${name}: { adapter: openai-compatible, base_url: "https://${name}.example/v1", ${key} }`;
  });
  const rows = endpoints.map(({ name, weight, price: [input, output] = [1, 4] }) => {
    const share = weight === undefined ? '' : `, weight: ${weight}`;
    const figures = `input: ${input}, cached_input: ${input / 10}, output: ${output}`;
    return `      - { provider: ${name}, upstream: m, price: { ${figures} }${share} }`;
  });
  return `version: 1
providers:
${providers.join('\n')}
models:
  m:
    spread: ${spread}
    endpoints:
${rows.join('\n')}
    price: { input: 1, cached_input: 0.1, output: 4 }
    context_window: 200000
    max_output: 1000
    quality: { default: 0.8 }
`;
}

/** A turn of a conversation: when it is sent, ms, what the user says, and what the model answers within `tookMs`. */
interface ConversationTurn {
  readonly at: number;
  readonly text: string;
  readonly answer: string;
  readonly tookMs: number;
}

export interface FleetConversation {
  /** The caller's key. */
  readonly caller: string;
  readonly system: string;
  readonly turns: readonly ConversationTurn[];
  /** The estimated tokens of its prompts in relation to the charged tokens. */
  readonly estimate: number;
}

/**
 * Makes conversations of several callers. A prompt has at least 1,024 tokens and grows with each turn. One pause in ten is longer than
 * providers keep a prompt.
 * @param hourly how many conversations begin in an hour
 * @param beginnings whether each conversation has its own system prompt, or all conversations of a caller share one
 */
export function conversationsOf(
  random: () => number,
  count: number,
  hourly: number,
  beginnings: 'own' | 'shared' = 'own',
): readonly FleetConversation[] {
  const words = (seed: string, tokens: number) => `${seed} ${'tide '.repeat(tokens)}`.slice(0, tokens * 4);
  const between = (least: number, most: number) => least + Math.floor(random() * (most - least));
  return Array.from({ length: count }, (_, number): FleetConversation => {
    const caller = `caller-${between(0, CALLERS)}`;
    const system = beginnings === 'own' ? words(`System ${number}.`, between(1_024, 4_000)) : words(caller, 2_000);
    let at = (between(0, HOUR_MS) * count) / hourly;
    const turns = Array.from({ length: between(2, 13) }, (_turn, turn): ConversationTurn => {
      const tookMs = between(500, 5_000);
      const own = { at, tookMs, text: words(`Question ${number}.${turn}`, between(10, 600)) };
      const isLong = random() < 0.1;
      at += tookMs + (isLong ? between(TTL_MS, 4 * TTL_MS) : between(1_000, TTL_MS - tookMs));
      return { ...own, answer: words('Answer', between(10, 600)) };
    });
    return { caller, system, turns, estimate: 0.85 + 0.3 * random() };
  });
}

/** What a simulated gateway does wrong, to show that the laws can fail. */
export type ConversationMutant =
  | 'forgets conversations'
  | 'places by chance'
  | 'places by chance and forgets'
  | 'places by the position in the list'
  | 'forgets conversations at an edit';

export interface ConversationReport {
  turns: number;
  /** Tokens that the fleet, or a single endpoint with the same conversations, read from a cache, and all tokens of prompts. */
  readonly tokens: { prompts: number; cached: number; direct: number };
  /** Turns that went to another account before its cache had expired, and turns that went to another key after that. */
  readonly moved: { warm: number; cold: number };
  /** New conversations at each endpoint, by its name and the number of its key, since the last edit. */
  begun: Map<string, number>;
  /** The requests at each endpoint, named in the same way. */
  readonly sent: Map<string, number>;
  /** The first broken laws, as sentences. */
  readonly broken: string[];
}

/** Where a conversation is, and the caches that have it. */
interface ConversationPlace {
  readonly key: string;
  readonly account: string;
  /** The last use of each account, and the weights of all keys when the conversation came there, by the account. */
  readonly caches: Map<string, { readonly lastAt: number; readonly weights: ReadonlyMap<string, number> }>;
}

/** What a server remembers. */
interface ConversationServer {
  readonly health: Health;
  affinity: Affinity;
  runtime: Runtime;
}

/** Plays conversations on a simulated clock: the real plan, spread and affinity, with fake providers that cache prompts for each account. */
export class FleetConversations {
  readonly #random: () => number;
  readonly #mutant: ConversationMutant | null;
  readonly #time = new SimulatedTime();
  readonly #servers: readonly ConversationServer[];
  readonly #caches = new Map<string, PromptCache>();
  readonly #direct = this.#newCache();
  readonly #places = new Map<FleetConversation, ConversationPlace>();
  readonly #report: ConversationReport = {
    turns: 0,
    tokens: { prompts: 0, cached: 0, direct: 0 },
    moved: { warm: 0, cold: 0 },
    begun: new Map(),
    sent: new Map(),
    broken: [],
  };
  #weights: ReadonlyMap<string, number> = new Map();

  /**
   * @param random decides what the gateway does, not what the conversations are
   * @param servers how many servers share the requests; a load balancer draws one for each request
   */
  constructor(random: () => number, policy: string, mutant: ConversationMutant | null = null, servers = 1) {
    const { clock } = this.#time;
    this.#random = random;
    this.#mutant = mutant;
    this.#servers = Array.from({ length: servers }, () => {
      const health = new Health({ clock, now: clock, random, onChange: () => {} });
      return { health, affinity: new Affinity(clock), runtime: runtimeOf(policy, health) };
    });
    this.#adopt(policy);
  }

  /** @param edits policies that replace the first one, by the time, ms */
  play(conversations: readonly FleetConversation[], edits: ReadonlyMap<number, string> = new Map()) {
    const start = this.#time.now;
    for (const [at, policy] of edits) this.#time.at(start + at, () => this.#adopt(policy));
    for (const one of conversations)
      one.turns.forEach(({ at }, turn) => {
        this.#time.at(start + at, () => this.#send(one, turn));
      });
    this.#time.drain();
    return this.#report;
  }

  #newCache(): PromptCache {
    return new PromptCache(this.#time.clock, TTL_MS);
  }

  #adopt(policy: string): void {
    for (const server of this.#servers) {
      server.runtime = runtimeOf(policy, server.health);
      if (this.#mutant === 'forgets conversations at an edit') server.affinity = new Affinity(this.#time.clock);
    }
    const upstreams = this.#servers[0]!.runtime.upstreams.flat();
    this.#weights = new Map(upstreams.map(({ key, endpoint }) => [key, endpoint.weight ?? 1]));
    this.#report.begun = new Map();
  }

  #history(conversation: FleetConversation, messages: readonly object[], server: ConversationServer): PromptHistory {
    const forgets = this.#mutant === 'forgets conversations' || this.#mutant === 'places by chance and forgets';
    const affinity = forgets ? new Affinity(this.#time.clock) : server.affinity;
    const history = affinity.history(conversation.caller, chatRequest({ messages: messages as never }));
    if (this.#mutant?.startsWith('places by chance')) history.conversation = () => null;
    return history;
  }

  #send(conversation: FleetConversation, turn: number): void {
    const messages = messagesOf(conversation, turn);
    const request = { path: '/chat/completions', body: { messages } };
    const expected = this.#direct.usageOf(request);
    const server = this.#servers[Math.floor(this.#random() * this.#servers.length)]!;
    const { runtime } = server;
    const history = this.#history(conversation, messages, server);
    const inputTokens = Math.round(expected.prompt_tokens * conversation.estimate);
    const asked = facts({ model: 'm', named: ['m'], inputTokens, inputTokensMax: 2 * inputTokens });
    const upstream = this.#chosen(history.recall(asked, runtime.snapshot), history, runtime);
    const cache = this.#caches.getOrInsertComputed(upstream.account, () => this.#newCache());
    const usage = cache.usageOf(request);
    this.#count(conversation, upstream, usage, expected);
    const { snapshot } = runtime;
    this.#answer(upstream, conversation.turns[turn]!.tookMs, usage, (at) => {
      const by = { model: upstream.model, endpoint: upstream.endpoint, account: stateAccount(upstream) };
      const read = { inputTokens: usage.prompt_tokens, expectedTokens: inputTokens, at };
      history.noteAnswer(by, read, { mark: 0 }, snapshot);
    });
  }

  #chosen(asked: Facts, history: PromptHistory, runtime: Runtime): Upstream {
    const { clock } = this.#time;
    // A server publishes its measurements each second.
    for (const { health } of this.#servers) health.publish();
    const readings = runtime.readings();
    const context = { id: this.#report.turns, seed: seedFrom(this.#random), strategy: byQuality, reason: 'pinned' };
    const decision = runtime.decider.decide(asked, { ...context, readings });
    if (isRefusal(decision)) throw new Error('without faults, no request is refused');
    const choice = new RequestEndpoints({ decision, runtime, history, clock });
    if (this.#mutant === 'places by the position in the list') {
      const pick = choice.pick.bind(choice);
      choice.pick = (ranked, left, draw) => {
        const { low } = history.conversation(asked, runtime.snapshot)!;
        return { ...pick(ranked, left, draw), at: left[low % left.length]! };
      };
    }
    const plan = new Plan(decision, runtime.upstreams, { retriesMax: 2, clock, random: this.#random, choice });
    return plan.next()!.way.upstream;
  }

  /** Ends the answer after its time, as an attempt does. The speed of an endpoint drifts. */
  #answer(upstream: Upstream, tookMs: number, usage: PromptUsage, learn: (at: number) => void): void {
    const reporter = upstream.health.begin({ retry: false, force: false });
    if (typeof reporter === 'string') throw new Error('without faults, every endpoint is healthy');
    const at = this.#time.now;
    this.#time.at(at + tookMs, () => {
      const ttftMs = 5_000 + 4_900 * Math.sin(at / (10 * MINUTE_MS) + 2 * upstream.at) + 100 * this.#random();
      const { prompt_tokens: tokens, prompt_tokens_details: details } = usage;
      reporter.answered(ttftMs);
      reporter.read(tokens, details.cached_tokens);
      reporter.completed(100, 1_000, null, details.cached_tokens > tokens / 2);
      learn(at);
    });
  }

  #count(conversation: FleetConversation, upstream: Upstream, usage: PromptUsage, expected: PromptUsage): void {
    const { tokens, begun, sent } = this.#report;
    this.#report.turns++;
    tokens.prompts += usage.prompt_tokens;
    tokens.cached += usage.prompt_tokens_details.cached_tokens;
    tokens.direct += expected.prompt_tokens_details.cached_tokens;
    const name = `${upstream.provider.name}/${upstream.endpoint.account ?? 0}`;
    sent.set(name, (sent.get(name) ?? 0) + 1);
    const before = this.#places.get(conversation);
    if (!before) begun.set(name, (begun.get(name) ?? 0) + 1);
    const { key, account } = upstream;
    if (before) this.#compare(before, upstream);
    const caches = before?.caches ?? new Map();
    const lastAt = this.#time.now;
    const cache = this.#isWarm(before, account) ? caches.get(account) : null;
    caches.set(account, { lastAt, weights: cache?.weights ?? this.#weights });
    this.#places.set(conversation, { key, account, caches });
  }

  #isWarm(place: ConversationPlace | undefined, account: string): boolean {
    const { lastAt = Number.NEGATIVE_INFINITY } = place?.caches.get(account) ?? {};
    return this.#time.now - lastAt < TTL_MS;
  }

  /**
   * The laws of edits: a conversation that is in a cache leaves its account only if its key is gone. With `weighted`, any other
   * conversation leaves its key only if this key has lost weight, or the next one gained it. A key that is gone or new has lost or gained
   * all of it.
   */
  #compare(before: ConversationPlace, { key, account, model }: Upstream): void {
    const { moved } = this.#report;
    const now = this.#weights;
    if (this.#isWarm(before, before.account)) {
      if (account === before.account) return;
      moved.warm++;
      if (now.has(before.key)) this.#break('a conversation left a cache');
    } else if (before.key !== key) {
      moved.cold++;
      const { weights } = before.caches.get(before.account)!;
      const hasLost = (now.get(before.key) ?? 0) < (weights.get(before.key) ?? 0);
      const hasGained = (now.get(key) ?? 0) > (weights.get(key) ?? 0);
      if (model.spread === 'weighted' && !hasLost && !hasGained) this.#break('a conversation moved that need not');
    }
  }

  #break(law: string): void {
    if (this.#report.broken.length < 5) this.#report.broken.push(`${law}, at ${this.#time.now} ms`);
  }
}

function runtimeOf(policy: string, health: Health): Runtime {
  const snapshot = loaded(policy, SECRETS);
  const runtime = buildRuntime(snapshot, registry, { get: (name) => SECRETS[name] }, health);
  health.adopt(snapshot, runtime.accountOf);
  return runtime;
}

/** The messages of a request: the conversation up to the user's question of a turn. */
function messagesOf({ system, turns }: FleetConversation, turn: number): readonly object[] {
  const earlier = turns.slice(0, turn).flatMap(({ text, answer }) => [
    { role: 'user', content: text },
    { role: 'assistant', content: answer },
  ]);
  return [{ role: 'system', content: system }, ...earlier, { role: 'user', content: turns[turn]!.text }];
}
