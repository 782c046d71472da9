import { CountedRooms } from '../../src/access/limits/endpoint-rooms.ts';
import type { ProviderFailure } from '../../src/contract/parts.ts';
import { isShort } from '../../src/core/policy/endpoint-room.ts';
import { SPREAD_MODES } from '../../src/core/policy/spread.ts';
import { pauseOf } from '../../src/gateway/exchange/failure.ts';
import { calledBy } from '../../src/gateway/exchange/key-turns.ts';
import { Plan } from '../../src/gateway/exchange/plan.ts';
import { RequestEndpoints } from '../../src/gateway/exchange/spread.ts';
import { Affinity } from '../../src/gateway/prompt/affinity.ts';
import { buildRuntime, type Runtime } from '../../src/policy/runtime/runtime.ts';
import type { Upstream } from '../../src/policy/runtime/upstream.ts';
import { Health } from '../../src/providers/health/health.ts';
import { isRefusal } from '../../src/routing/decide.ts';
import { byQuality, facts, loaded, registry } from '../routing/build.ts';
import { chatRequest } from '../support/model-request.ts';
import { SimulatedTime, seedFrom } from '../support/simulated-time.ts';

const HOUR_MS = 3_600_000;
const NAMES = ['a', 'b', 'c', 'd', 'e', 'f'];
const SECRETS = Object.fromEntries([1, 2, 3].map((number) => [`KEY_${number}`, `secret-${number}`]));
const FAULTS = ['server', 'slow', 'rate_limited', 'auth'] as const;

/** How a fake provider treats one key until a time; without a fault it answers. */
interface Weather {
  readonly fault: (typeof FAULTS)[number] | null;
  readonly until: number;
}

/** What a simulated gateway does wrong, to show that the laws can fail. */
export type FleetMutant = 'stops at the first full or paused endpoint' | 'ignores the limits of endpoints';

export interface FleetReport {
  requests: number;
  answered: number;
  /** Requests that failed after every endpoint was full, paused or had failed. */
  failed: number;
  attempts: number;
  readonly seenFull: number;
  /** The first broken laws, as sentences. */
  readonly broken: readonly string[];
}

/** More tokens than any request of the simulation has, input and expected output together. */
const TOKENS_MAX = 1_600;

interface SentRequest {
  readonly number: number;
  /** The endpoints that were healthy when the request came, and that neither it called nor health or retry budget refused to it. */
  readonly untried: Set<Upstream>;
  /** The keys and providers that failed attempts called. */
  called: readonly string[];
}

/** A fleet on a simulated clock: the real plan, spread, limits and health, with fake providers. */
export class FleetWorld {
  readonly #random: () => number;
  readonly #mutant: FleetMutant | null;
  readonly #time = new SimulatedTime();
  readonly #health: Health;
  readonly #affinity: Affinity;
  readonly #weather = new Map<string, Weather>();
  /** The requests that run at each endpoint of a policy. */
  readonly #running = new Map<Upstream, number>();
  readonly #report = { requests: 0, answered: 0, failed: 0, attempts: 0, seenFull: 0, broken: [] as string[] };
  #runtime!: Runtime;

  constructor(random: () => number, mutant: FleetMutant | null = null) {
    this.#random = random;
    this.#mutant = mutant;
    const { clock } = this.#time;
    this.#health = new Health({ clock, now: clock, random, onChange: () => {}, rooms: new CountedRooms(clock) });
    this.#affinity = new Affinity(clock);
  }

  /** Plays this many hours. Each begins with a new policy, and requests come in bursts. */
  play(hours: number): FleetReport {
    for (let hour = 0; hour < hours; hour++) {
      const snapshot = loaded(this.#policy(), SECRETS);
      this.#runtime = buildRuntime(snapshot, registry, { get: (name) => SECRETS[name] }, this.#health);
      this.#health.adopt(snapshot, this.#runtime.accountOf);
      const start = this.#time.now;
      for (let at = start; at < start + HOUR_MS; at += this.#random() * 60_000) {
        const burst = 1 + Math.floor(this.#random() * 12);
        for (let one = 0; one < burst; one++) this.#time.at(at + this.#random() * 2_000, () => this.#send());
      }
      this.#time.drain(start + HOUR_MS);
    }
    this.#time.drain();
    return this.#report;
  }

  #pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.#random() * from.length)]!;
  }

  #policy(): string {
    const names = NAMES.filter(() => this.#random() < 0.6);
    const used = names.length > 0 ? names : ['a'];
    const key = (number: number) => `{ api_key_env: KEY_${number}, weight: ${this.#pick([1, 1, 3])} }`;
    const providers = used.map((name) => {
      const keys = this.#random() < 0.3 ? `api_keys_env: [${[1, 2, 3].map(key).join(', ')}]` : 'api_key_env: KEY_1';
      return `  ${name}: { adapter: openai-compatible, base_url: "https://${name}.example/v1", ${keys} }`;
    });
    const limit = (name: string, figures: readonly number[]) =>
      this.#random() < 0.5 ? [`${name}: ${this.#pick(figures)}`] : [];
    const endpoints = used.map((name) => {
      const limits = [
        ...limit('requests_per_minute', [5, 20, 60]),
        ...limit('tokens_per_minute', [8_000, 40_000]),
        ...limit('concurrent_requests', [1, 3, 8]),
      ];
      const limited = limits.length > 0 ? `, limits: { ${limits.join(', ')} }` : '';
      const place = `weight: ${this.#pick([0, 1, 5, 30])}, priority: ${this.#pick([0, 0, 1])}`;
      return `      - { provider: ${name}, upstream: m, ${place}${limited} }`;
    });
    return `version: 1
providers:
${providers.join('\n')}
models:
  m:
    spread: ${this.#pick(SPREAD_MODES)}
    endpoints:
${endpoints.join('\n')}
    price: { input: 1, output: 4 }
    context_window: 100000
    max_output: 1000
    quality: { default: 0.8 }
`;
  }

  #weatherOf({ provider, key }: Upstream): Weather['fault'] {
    const id = `${provider.name}/${key}`;
    let weather = this.#weather.get(id);
    if (!weather || weather.until <= this.#time.now) {
      const fault = this.#random() < 0.25 ? this.#pick(FAULTS) : null;
      weather = { fault, until: this.#time.now + this.#random() * 20 * 60_000 };
      this.#weather.set(id, weather);
    }
    return weather.fault;
  }

  #send(): void {
    this.#report.requests++;
    const runtime = this.#runtime;
    // A server publishes its measurements each second.
    this.#health.publish();
    const request = chatRequest({ messages: [{ role: 'user', content: `Say ${this.#report.requests}.` }] });
    const asked = facts({ model: 'm', named: ['m'], inputTokens: 200 + Math.floor(this.#random() * 1_000) });
    const context = {
      id: this.#report.requests,
      seed: seedFrom(this.#random),
      strategy: byQuality,
      reason: 'pinned',
      readings: runtime.readings(),
    };
    const decision = runtime.decider.decide(asked, context);
    const untried = new Set(runtime.upstreams.flat().filter(({ health }) => health.state === 'healthy'));
    // A decision that knows no healthy endpoint is refused before the plan.
    if (isRefusal(decision)) {
      this.#fail({ number: context.id, untried });
      return;
    }
    const history = this.#affinity.history('key', request);
    const { clock } = this.#time;
    const choice = new RequestEndpoints({ decision, runtime, history, clock });
    choice.stayAt = () => null;
    const plan = new Plan(decision, runtime.upstreams, { retriesMax: 2, clock, random: this.#random, choice });
    this.#step(plan, runtime, { number: context.id, untried, called: [] });
  }

  #step(plan: Plan, runtime: Runtime, memory: SentRequest): void {
    for (let step = plan.next(); step !== null; step = plan.next()) {
      const planned = step;
      if (planned.waitMs > 0) {
        this.#time.at(this.#time.now + planned.waitMs, () => {
          if (!this.#begin(plan, runtime, memory, planned)) this.#step(plan, runtime, memory);
        });
        return;
      }
      if (this.#begin(plan, runtime, memory, planned)) return;
      if (this.#mutant === 'stops at the first full or paused endpoint') break;
    }
    this.#fail(memory);
  }

  /** Begins an attempt as an exchange does. Returns false if the endpoint is full or shut. */
  #begin(plan: Plan, runtime: Runtime, memory: SentRequest, step: NonNullable<ReturnType<Plan['next']>>): boolean {
    const { upstream, ranked } = step.way;
    const { health, provider, key } = upstream;
    const room = this.#mutant === 'ignores the limits of endpoints' ? null : upstream.room;
    const stay = room?.begin(Math.ceil(ranked.tokens)) ?? null;
    if (stay instanceof Promise) throw new Error('counts of one server need no store');
    if (stay && isShort(stay)) {
      this.#report.seenFull++;
      plan.full(stay.waitMs);
      return false;
    }
    const retry = step.again || memory.called.includes(key) || memory.called.includes(provider.name);
    const reporter = health.begin({ retry, force: step.force });
    if (typeof reporter === 'string') {
      stay?.undo();
      memory.untried.delete(upstream);
      if (reporter === 'shut') plan.shut();
      else plan.denied(step);
      return false;
    }
    this.#report.attempts++;
    memory.untried.delete(upstream);
    const running = (this.#running.get(upstream) ?? 0) + 1;
    this.#running.set(upstream, running);
    const most = upstream.endpoint.limits?.concurrentRequests ?? null;
    if (most !== null && running > most) this.#break(`${provider.name} runs ${running} of ${most} requests`);
    const fault = this.#weatherOf(upstream);
    const took = fault === 'slow' ? 20_000 : fault === null ? 500 + this.#random() * 4_000 : 50;
    this.#time.at(this.#time.now + took, () => {
      this.#running.set(upstream, this.#running.get(upstream)! - 1);
      stay?.end(fault === null || fault === 'slow' ? ranked.tokens : 0);
      if (fault === null || fault === 'slow') {
        reporter.answered(took / 2);
        reporter.completed(100, took / 2, null);
        // Another program may use the same account, so less remains than the gateway has counted.
        if (this.#random() < 0.1)
          room?.correct({ requests: this.#pick([0, 2, 50]), tokens: this.#pick([0, 2_000, 50_000]) });
        this.#report.answered++;
        return;
      }
      const failure = failureOf(fault, this.#pick([0, 500, 4_000, 10_000, 60_000]));
      reporter.failed(failure, true);
      memory.called = [...memory.called, ...calledBy(upstream, failure)];
      plan.failed(failure, pauseOf(health, failure, this.#time.now), took);
      this.#step(plan, runtime, memory);
    });
    return true;
  }

  /** The law: a request fails only if each healthy endpoint with room was called, or was refused to it by health or retry budget. */
  #fail({ number, untried }: Pick<SentRequest, 'number' | 'untried'>): void {
    this.#report.failed++;
    for (const { health, room, provider, key } of untried) {
      if (health.state !== 'healthy' || !(room?.hasRoom(TOKENS_MAX) ?? true)) continue;
      this.#break(`request ${number} failed, but ${provider.name}/${key} has room`);
    }
  }

  #break(law: string): void {
    if (this.#report.broken.length < 5) this.#report.broken.push(law);
  }
}

/** @param retryAfterMs the wait that the provider requests; 0 for none */
function failureOf(fault: Exclude<(typeof FAULTS)[number], 'slow'>, retryAfterMs: number): ProviderFailure {
  switch (fault) {
    case 'rate_limited':
      return { kind: fault, message: 'slow down', status: 429, ...(retryAfterMs > 0 && { retryAfterMs }) };
    case 'auth':
      return { kind: fault, message: 'bad key', status: 401 };
    default:
      return { kind: fault, message: 'broken', status: 503 };
  }
}
