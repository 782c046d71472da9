import { type AuditReport, type AuditResult, isSound, type ServerAudits } from '../admin/use-cases/ledger/audit.ts';
import { SignalboxError } from '../core/errors.ts';
import { messageOf } from '../core/thrown.ts';
import type { Timers } from '../core/time/timers.ts';
import { workerAddress } from '../host/program.ts';
import type { Log } from '../host/telemetry/log.ts';
import type { AuditedPlace, AuditReply } from './audit-worker.ts';

/** The longest time that an audit may take, ms. */
const AUDIT_MS = 600_000;

interface AuditsOptions {
  readonly place: AuditedPlace;
  /** Ms since 1970. */
  readonly now: () => number;
  readonly timers: Timers;
  readonly log: Pick<Log, 'info' | 'error'>;
  readonly auditMs?: number;
}

/** Audits the books in a worker of its own while the server handles requests: one audit at a time, for at most `auditMs`. State: audits. */
export class Audits implements ServerAudits {
  last: AuditResult | null = null;
  readonly #options: AuditsOptions;
  #running: { readonly since: number; readonly done: Promise<void>; end(): void } | null = null;

  constructor(options: AuditsOptions) {
    this.#options = options;
  }

  get runningSince(): number | null {
    return this.#running?.since ?? null;
  }

  run(): Promise<void> {
    if (this.#running) return this.#running.done;
    const since = this.#options.now();
    const { report, end } = this.#start();
    const done = this.#finish(since, report).finally(() => {
      this.#running = null;
      end();
    });
    this.#running = { since, done, end };
    return done;
  }

  /** Ends a running audit. Callers that wait for the result of the audit get an error. */
  close(): void {
    this.#running?.end();
  }

  async #finish(since: number, report: Promise<AuditReport>): Promise<void> {
    const { now, log } = this.#options;
    try {
      const found = await report;
      this.last = { begun: since, ended: now(), report: found };
    } catch (cause) {
      log.error('the books could not be audited', { error: messageOf(cause) });
      throw new SignalboxError('overloaded', 'The books could not be audited. The log of the server has the reason.', {
        cause,
      });
    }
    const { entries, findings_count: findings } = this.last.report;
    const facts = { entries, findings, took_ms: this.last.ended - since };
    if (isSound(this.last.report)) log.info('the books were audited', facts);
    else log.error('the audit of the books found mistakes', facts);
  }

  #start(): { readonly report: Promise<AuditReport>; end(): void } {
    const { place, timers, auditMs = AUDIT_MS } = this.#options;
    const { promise: report, resolve, reject } = Promise.withResolvers<AuditReport>();
    const worker = new Worker(workerAddress('./audit-worker.ts', import.meta.url));
    worker.unref();
    const late = timers.after(auditMs, () => reject(new Error(`it took longer than ${auditMs / 1_000} s`)));
    worker.onmessage = ({ data }: MessageEvent<AuditReply>) =>
      'report' in data ? resolve(data.report) : reject(new Error(data.error));
    worker.onerror = ({ message }) => reject(new Error(message));
    const { home, data, database } = place;
    worker.postMessage({ home, data, database } satisfies AuditedPlace);
    const end = () => {
      late.close();
      worker.terminate();
      reject(new Error('the server stopped'));
    };
    return { report, end };
  }
}
