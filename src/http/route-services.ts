import type { Idempotency } from '../access/idempotency/idempotency.ts';
import type { Tokens } from '../access/tokens/tokens.ts';
import type { Principal } from '../admin/use-cases/principal.ts';
import type { Sight } from '../admin/use-cases/sight.ts';
import type { Caller } from '../core/caller.ts';
import type { Gateway } from '../gateway/request/gateway.ts';
import type { RequestContext } from '../gateway/request/request-context.ts';
import type { Peers } from './address.ts';
import type { Sockets } from './sockets.ts';

/** Seconds that a complete or overdue answer may stay unread before its connection, which holds memory, is closed. */
export const UNREAD_S = 30;

/** Seconds after which a client that reads nothing of a stream is disconnected. */
export const STALLED_S = 60;

/** The running server. */
export interface EdgeServer extends Peers {
  /** Closes the connection of a request after so many seconds without traffic; 0 for never. */
  timeout(request: Request, seconds: number): void;
}

/** Does work that a client waits for longer than its connection may be idle. */
export async function withoutIdleLimit<Result>(
  server: EdgeServer | null,
  request: Request,
  work: () => Promise<Result>,
): Promise<Result> {
  server?.timeout(request, 0);
  try {
    return await work();
  } finally {
    server?.timeout(request, UNREAD_S);
  }
}

/** A key that somebody else than its bearer sends as, and who that is: the ID of a user or of the key. */
export interface KeySender {
  readonly keyId: string;
  readonly sentBy: string;
}

/** The connection of another request, which brings requests of its own. */
export interface RequestCarrier {
  /** Stands for the credentials of the requests; absent: they bear their own. */
  readonly sender?: KeySender;
  /** The address of the caller. */
  readonly address: string;
  /** Closes the connection after so many seconds without traffic; 0 for never. */
  timeout(seconds: number): void;
}

/** The services that route groups share. */
export interface RouteServices {
  readonly gateway: Gateway;
  readonly idempotency: Idempotency;
  /** The secret that kept answers of a subject of tokens are sealed with, by its ID. */
  readonly answerSecretOf: Tokens['answerSecretOf'];
  /** The caller of a request on a route that needs a key. */
  callerOf(request: Request): Caller;
  contextOf(request: Request): RequestContext;
  /**
   * Checks the caller of an admitted request again after a long wait, and notes in the context what it may do now.
   * @throws SignalboxError if its key has been revoked, for example
   */
  readmit(request: Request, context: RequestContext): Promise<void>;
  /** The caller's address, as trusted proxies report it; null when the connection is gone. */
  addressOf(request: Request): string | null;
  /** Its caller, and as whom the trail names it. */
  principalOf(request: Request): Principal;
  /** How much a caller is shown of keys and runs. */
  sightOf(by: Principal): Sight;
  /**
   * Waits for the request's turn, and reads its JSON body.
   * @throws SignalboxError
   */
  bodyOf(request: Request, context: RequestContext): Promise<unknown>;
  /** Answers a request that came over another connection of its caller. */
  handle(request: Request, carrier: RequestCarrier): Promise<Response>;
  readonly sockets: Sockets;
  /** `STALLED_S`, or less in tests. */
  readonly stalledS: number;
  /** Null where none listens. Elysia's own way to it slows down every route that it is used on. */
  server(): EdgeServer | null;
}
