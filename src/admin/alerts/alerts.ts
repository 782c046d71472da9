import type { AlertContent, AlertType } from '../../core/people/alert.ts';
import type { AlertPolicy, AlertWebhook } from '../../core/policy/alerts.ts';
import type { AlertReadings } from '../../core/tables/alerts/index.ts';
import { messageOf } from '../../core/thrown.ts';
import type { Timer, Timers } from '../../core/time/timers.ts';
import type { Log } from '../../host/telemetry/log.ts';
import type { AlertMark, AlertMarkChange, AlertMessage, AlertTable } from '../../store/alerts.ts';
import type { OpenStore } from '../../store/driver.ts';
import { type InstanceName, isSameInstance, nameOf } from '../../store/instance.ts';
import { isUnmet } from '../../store/store.ts';
import { AlertCounts } from './counts.ts';
import { alertId } from './message.ts';
import { Outbox } from './outbox.ts';
import { type AlertFinding, type DueAlert, dueAlerts } from './rules.ts';
import { type SenderHost, sendOnce } from './send.ts';

/** How often the server checks the alert rules, ms. */
export const LOOK_EVERY_MS = 15_000;
/** How often the server checks whether a message is due for another try, ms. */
export const SEND_EVERY_MS = 1_000;
/** How often the server deletes old marks and messages, ms. */
const PRUNE_EVERY_MS = 3_600_000;
/** The most messages that the store keeps. */
const MESSAGES_MAX = 1_000;
/** The most subjects that one message names. */
const SUBJECTS_MAX = 20;
/** While this number of messages waits to be sent, the server does not check the alert rules. */
const WAITING_MAX = 200;

export interface AlertsOptions extends SenderHost {
  readonly store: Pick<OpenStore, 'alerts' | 'commit' | 'instance'>;
  /** The alert rules and webhooks of the active policy. */
  readonly policy: () => AlertPolicy;
  readonly readings: () => AlertReadings;
  readonly timers: Timers;
  readonly log: Log;
  /** Called for each new alert after it is stored. The function must not throw. */
  readonly onAlert?: (message: AlertMessage) => void;
}

/** The result of a test message for one webhook. */
export interface WebhookTest {
  readonly webhook: string;
  /** Why the message could not be sent; null if it was sent. */
  readonly problem: string | null;
}

/**
 * Checks the alert rules and sends the alerts that are due. Servers that share a store also share the marks of what was already reported.
 * The server whose commit of the marks succeeds first sends the alert. Another server sends the alert only if the first server is gone.
 * State: alerts.
 */
export class Alerts {
  readonly counts = new AlertCounts();
  readonly #options: AlertsOptions;
  readonly #outbox: Outbox;
  readonly #regular: Timer[] = [];
  /** This instance's copy of the marks, by ID; null if it must be read from the store. */
  #marks: Map<string, AlertMark> | null = null;
  #looking: Promise<void> | null = null;
  #prunedAt = 0;
  /** The last problem of a check, kept so that the log shows it only once. */
  #problem = '';

  constructor(options: AlertsOptions) {
    this.#options = options;
    this.#outbox = new Outbox({ ...options, counts: this.counts });
  }

  /** Starts to check the rules and send messages at regular intervals. */
  begin(): void {
    const { timers } = this.#options;
    this.#regular.push(
      timers.every(LOOK_EVERY_MS, () => void this.look()),
      timers.every(SEND_EVERY_MS, () => void this.#outbox.send()),
    );
    for (const timer of this.#regular) timer.unref();
  }

  /** Checks the rules once and sends the alerts that are due. The promise never rejects. */
  look(): Promise<void> {
    this.#looking ??= this.#lookAndSend().finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  /** Resolves when no check and no try is running. */
  async idle(): Promise<void> {
    await this.#looking;
    await this.#outbox.idle();
  }

  /** Stops the regular work. Another instance sends the waiting messages, or this server sends them after its next start. */
  async close(): Promise<void> {
    for (const timer of this.#regular) timer.close();
    await this.idle();
  }

  /** Lists alerts, like `AlertTable.list`. */
  readonly list: AlertTable['list'] = (page) => this.#options.store.alerts.list(page);

  /** Sends a test message to each of the webhooks once, and stores it with the other messages. Rejects with StoreError. */
  async test(webhooks: readonly AlertWebhook[]): Promise<readonly WebhookTest[]> {
    const { store, now } = this.#options;
    const message = this.#message(testContent(), []);
    const results = await Promise.all(webhooks.map((webhook) => testWebhook(message, webhook, this.#options)));
    const deliveries = results.map(({ webhook, problem }) => {
      this.counts.add(webhook, problem === null ? 'sent' : 'failed');
      const state = problem === null ? ('sent' as const) : ('failed' as const);
      return { webhook, state, tries: 1, triedAt: now(), nextAt: now(), problem };
    });
    await store.commit([store.alerts.insert({ ...message, deliveries })]);
    return results;
  }

  async #lookAndSend(): Promise<void> {
    try {
      await this.#look();
      this.#problem = '';
    } catch (cause) {
      this.#report(messageOf(cause));
    }
    await this.#outbox.send();
  }

  async #look(): Promise<void> {
    const { store, policy, readings } = this.#options;
    await this.#outbox.adopt();
    await this.#prune();
    const { rules, webhooks } = policy();
    this.counts.begin(webhooks);
    if (rules.length === 0 || this.#outbox.size >= WAITING_MAX) return;
    const marks = this.#marks ?? new Map((await store.alerts.marks()).map((mark) => [mark.id, mark]));
    this.#marks = marks;
    const gone = await this.#goneOwners(marks);
    const owner = nameOf(store.instance);
    const mayClose = (mark: AlertMark) => isSameInstance(mark.owner, owner) || gone.has(JSON.stringify(mark.owner));
    const { alerts, stale } = dueAlerts(rules, readings(), { marks, mayClose, owner, now: this.#options.now() });
    for (const alert of alerts) await this.#tell(alert, marks);
    for (const change of stale) await this.#commit([change], marks);
  }

  /** @returns the instances that own open marks and have ended for good */
  async #goneOwners(marks: ReadonlyMap<string, AlertMark>): Promise<ReadonlySet<string>> {
    const { instance } = this.#options.store;
    const owners = new Map<string, InstanceName>();
    for (const { state, owner } of marks.values()) {
      if (state === 'open' && !isSameInstance(owner, instance)) owners.set(JSON.stringify(owner), owner);
    }
    const gone = new Set<string>();
    for (const [text, owner] of owners) if (!(await instance.lives(owner))) gone.add(text);
    return gone;
  }

  async #tell({ rule, type, findings }: DueAlert, marks: Map<string, AlertMark>): Promise<void> {
    const { store, log } = this.#options;
    const message = this.#message(contentOf(rule, type, findings), rule.to);
    const changes = findings.map(({ change }) => change);
    if (!(await this.#commit(changes, marks, message))) return;
    const { lines } = message.content;
    const subjects = findings.length;
    log.info('an alert is due', {
      alert: alertId(message.id),
      type,
      rule: rule.name,
      on: rule.on,
      subjects,
      first: lines[0],
    });
    this.#outbox.add({ ...message, owner: nameOf(store.instance) });
    this.#options.onAlert?.(message);
  }

  /** @returns false if another instance committed first; this instance then reads the marks again. Rejects with StoreError. */
  async #commit(
    changes: readonly AlertMarkChange[],
    marks: Map<string, AlertMark>,
    message?: AlertMessage,
  ): Promise<boolean> {
    const { store } = this.#options;
    try {
      await store.commit([
        ...changes.map((change) => store.alerts.mark(change)),
        ...(message ? [store.alerts.insert(message)] : []),
      ]);
    } catch (cause) {
      // If the answer of the commit was lost, this copy of the marks may be outdated.
      this.#marks = null;
      if (isUnmet(cause)) return false;
      throw cause;
    }
    for (const { mark } of changes) marks.set(mark.id, mark);
    return true;
  }

  #message(content: AlertContent, to: readonly string[]): AlertMessage {
    const { store, now } = this.#options;
    const time = now();
    const deliveries = [...new Set(to)].map((webhook) => ({
      webhook,
      state: 'waiting' as const,
      tries: 0,
      triedAt: null,
      nextAt: time,
      problem: null,
    }));
    return { id: store.instance.nextId(), time, content, deliveries, owner: nameOf(store.instance) };
  }

  async #prune(): Promise<void> {
    const { store, now } = this.#options;
    const time = now();
    if (time - this.#prunedAt < PRUNE_EVERY_MS) return;
    await store.commit(store.alerts.prune(time, MESSAGES_MAX));
    this.#prunedAt = time;
    this.#marks = null;
  }

  #report(problem: string): void {
    if (problem !== this.#problem) this.#options.log.warn('alert rules could not be checked', { error: problem });
    this.#problem = problem;
  }
}

function contentOf({ name, on }: DueAlert['rule'], type: AlertType, findings: readonly AlertFinding[]): AlertContent {
  const shown = findings.slice(0, SUBJECTS_MAX);
  const [lines, subjects] = [shown.map(({ line }) => line), shown.map(({ subject }) => subject)];
  return { type, rule: name, on, lines, subjects, more: findings.length - shown.length };
}

/** The content of a test message. */
export const testContent = (): AlertContent => ({
  ...{
    type: 'test',
    rule: '',
    on: 'test',
    lines: ['This is a test. Alerts of Signalbox arrive here.'],
    subjects: [],
    more: 0,
  },
});

/** Tries a webhook once. Never rejects. */
export const testWebhook = async (
  message: Pick<AlertMessage, 'id' | 'time' | 'content'>,
  webhook: AlertWebhook,
  host: SenderHost,
): Promise<WebhookTest> => ({ webhook: webhook.name, problem: await sendOnce(message, webhook, host) });
