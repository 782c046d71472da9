import type { AlertPolicy } from '../../core/policy/alerts.ts';
import type { Log } from '../../host/telemetry/log.ts';
import { type AlertDelivery, type AlertMessage, isWaiting } from '../../store/alerts.ts';
import type { OpenStore } from '../../store/driver.ts';
import { isSameInstance, nameOf } from '../../store/instance.ts';
import { isMet, isUnmet } from '../../store/store.ts';
import type { AlertCounts } from './counts.ts';
import { alertId } from './message.ts';
import { type SenderHost, sendOnce } from './send.ts';

/** The pauses after failed tries, ms. These pauses allow five tries in a little over six minutes. */
const PAUSES_MS = [1_000, 10_000, 60_000, 300_000];
const TRIES_MAX = PAUSES_MS.length + 1;
/** The most tries that run at the same time. */
const TRYING_MAX = 8;

interface OutboxOptions extends SenderHost {
  readonly store: Pick<OpenStore, 'alerts' | 'commit' | 'instance'>;
  readonly policy: () => AlertPolicy;
  readonly log: Log;
  readonly counts: AlertCounts;
}

/** A message that this instance sends. */
interface OutboxEntry {
  message: AlertMessage;
  /** Whether the results of the tries still have to be written to the store. */
  isUnwritten: boolean;
}

/** Sends the messages that this instance owns, and tries again after failures. State: alerts. */
export class Outbox {
  readonly #options: OutboxOptions;
  readonly #entries = new Map<number, OutboxEntry>();
  /** Running tries, by message and webhook. */
  readonly #trying = new Map<string, Promise<void>>();

  constructor(options: OutboxOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Adds a message that is already in the store and that this instance owns. */
  add(message: AlertMessage): void {
    if (isWaiting(message)) this.#entries.set(message.id, { message, isUnwritten: false });
  }

  /** Takes over the messages of instances that have ended, and own messages whose commit seemed to fail. Rejects with StoreError. */
  async adopt(): Promise<void> {
    const { alerts, instance, commit } = this.#store;
    // A message whose tries finish during this read would still appear to wait in the store.
    const known = new Set(this.#entries.keys());
    for (const message of await alerts.waiting()) {
      if (known.has(message.id)) continue;
      if (isSameInstance(message.owner, instance)) {
        this.add(message);
        continue;
      }
      if (await instance.lives(message.owner)) continue;
      const own = { ...message, owner: nameOf(instance) };
      if (await isMet(commit([alerts.update(own, message.owner)]))) this.add(own);
    }
  }

  /** Starts every try that is due. Resolves when these tries have ended. Never rejects. */
  async send(): Promise<void> {
    const now = this.#options.now();
    for (const entry of this.#entries.values()) {
      if (entry.isUnwritten) await this.#write(entry);
      for (const delivery of entry.message.deliveries) {
        if (delivery.state === 'waiting' && delivery.nextAt <= now) this.#begin(entry, delivery);
      }
    }
    await this.idle();
  }

  /** Resolves when no try is running. */
  async idle(): Promise<void> {
    await Promise.all(this.#trying.values());
  }

  get #store() {
    const { store } = this.#options;
    return { alerts: store.alerts, instance: store.instance, commit: store.commit.bind(store) };
  }

  #begin(entry: OutboxEntry, delivery: AlertDelivery): void {
    const key = `${entry.message.id} ${delivery.webhook}`;
    if (this.#trying.has(key) || this.#trying.size >= TRYING_MAX) return;
    const tried = this.#try(entry, delivery).finally(() => this.#trying.delete(key));
    this.#trying.set(key, tried);
  }

  async #try(entry: OutboxEntry, { webhook: name, tries }: AlertDelivery): Promise<void> {
    const { policy, counts, now } = this.#options;
    const webhook = policy().webhooks.find((one) => one.name === name);
    const problem = webhook
      ? await sendOnce(entry.message, webhook, this.#options)
      : 'the policy no longer has a webhook with this name';
    const time = now();
    const isLast = !webhook || tries + 1 >= TRIES_MAX;
    const state = problem === null ? 'sent' : isLast ? 'failed' : 'waiting';
    const ended = { webhook: name, state, tries: tries + 1, triedAt: time, problem } as const;
    const nextAt = time + (PAUSES_MS[tries] ?? 0);
    const deliveries = entry.message.deliveries.map((one) => (one.webhook === name ? { ...ended, nextAt } : one));
    entry.message = { ...entry.message, deliveries };
    counts.add(name, state === 'waiting' ? 'retried' : state);
    this.#log(entry.message, ended);
    await this.#write(entry);
  }

  #log(
    { id }: AlertMessage,
    { webhook, state, tries, problem }: Pick<AlertDelivery, 'webhook' | 'state' | 'tries' | 'problem'>,
  ): void {
    const { log } = this.#options;
    const facts = { alert: alertId(id), webhook, tries };
    if (state === 'sent') log.info('an alert was sent', facts);
    else if (state === 'failed') log.warn('an alert could not be sent', { ...facts, problem });
  }

  /** Writes the results of the tries. If the store is unavailable, the next check writes them. */
  async #write(entry: OutboxEntry): Promise<void> {
    const { alerts, commit } = this.#store;
    const { message } = entry;
    entry.isUnwritten = true;
    try {
      await commit([alerts.update(message, message.owner)]);
    } catch (cause) {
      // Another instance took over the message, because it assumed that this instance had ended.
      if (isUnmet(cause)) this.#entries.delete(message.id);
      return;
    }
    // Another try of this message may have ended during the write.
    if (entry.message === message) entry.isUnwritten = false;
    if (!isWaiting(entry.message) && !entry.isUnwritten) this.#entries.delete(message.id);
  }
}
