import type { Idempotency } from '../access/idempotency/idempotency.ts';
import type { Keys } from '../access/keys.ts';
import type { X402Gateway } from '../http/x402/services.ts';
import { drain } from '../request/drain.ts';
import type { OpenStore, StoreLock } from '../store/driver.ts';
import type { Tracer } from '../telemetry/tracing/start.ts';
import type { LedgerNote } from './ledger-note.ts';
import { closeStore } from './store.ts';
import type { TrailNote } from './trail-note.ts';

/** Time for the last error events to reach their readers. */
const FAREWELL_MS = 1_000;

/** The parts of a server that are closed at its end. */
export interface ServerParts {
  /** The data folder. */
  readonly data: string;
  readonly gateway: X402Gateway;
  readonly idempotency: Idempotency;
  readonly keys: Keys;
  readonly store: OpenStore;
  readonly note: LedgerNote;
  readonly trailNote: TrailNote;
  readonly lock: StoreLock;
  readonly tracer: Tracer | null;
  /** Time for requests under way, ms. */
  readonly drainMs: number;
  /** Ends the gateway's timers, and makes it refuse requests. */
  stop(): void;
  /** Stops taking connections. Resolves once the last one is closed. */
  stopListening(): Promise<unknown> | undefined;
  /** Ends the process. */
  exit(code: number): void;
  /** Resolves once the log is written. */
  written(): Promise<void>;
}

export interface Shutdown {
  /** Drains, and ends the process with 0. The second signal ends it at once, with 1. */
  bySignal(signal: string): void;
  /** Drains, and ends the process with 1. Whatever is thrown meanwhile does not cut the requests under way. */
  byException(): void;
}

export function openShutdown(parts: ServerParts): Shutdown {
  const { gateway, exit, written } = parts;
  const { log } = gateway;
  let code: 0 | 1 = 0;
  let isSignalled = false;
  const begin = (cause: { readonly signal?: string; readonly cause?: string }): void => {
    if (gateway.isDraining) return;
    log.info('draining', { ...cause, requests: gateway.inFlight.size });
    void closeAll(parts)
      .then(
        (closed) => {
          code ||= closed;
          log.info('stopped');
        },
        (error: unknown) => {
          code = 1;
          log.error('the server did not stop cleanly', { error: String(error) });
        },
      )
      .then(written)
      .finally(() => exit(code));
  };
  return {
    bySignal(signal) {
      if (isSignalled) return exit(1);
      isSignalled = true;
      begin({ signal });
    },
    byException() {
      code = 1;
      begin({ cause: 'uncaught exception' });
    },
  };
}

/** Resolves with 1 where a settlement is lost, else with 0. */
async function closeAll(parts: ServerParts): Promise<0 | 1> {
  const { data, gateway, idempotency, keys, store, note, trailNote, lock, tracer, drainMs } = parts;
  const { stop, stopListening } = parts;
  const { log } = gateway;
  const orWarn = (message: string) => (error: unknown) => log.warn(message, { error: String(error) });
  stop();
  const stopped = stopListening();
  await drain(gateway, drainMs);
  // The next start closes requests that are not settled by now.
  gateway.payments.close();
  await Promise.race([Promise.all([stopped, idempotency.idle()]), Bun.sleep(FAREWELL_MS)]);
  await trailNote.close();
  keys.close();
  await gateway.learner.close().catch(orWarn('the learning checkpoint could not be written'));
  // After a failure of the disk, the next start sums up the rest.
  await gateway.ledger.close().catch(orWarn('the ledger checkpoint could not be written'));
  await note.close();
  const code = await closeStore(data, store, log);
  lock.release();
  await tracer?.close();
  return code;
}
