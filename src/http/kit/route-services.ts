import type { Idempotency } from '../../access/idempotency/idempotency.ts';
import type { Tokens } from '../../access/tokens/tokens.ts';
import type { Principal } from '../../admin/use-cases/principal.ts';
import type { Sight } from '../../admin/use-cases/sight.ts';
import type { SignalboxError } from '../../core/errors.ts';
import type { Caller } from '../../core/people/caller.ts';
import type { Gateway } from '../../gateway/request/gateway.ts';
import type { Pipeline } from '../../gateway/request/pipeline.ts';
import type { RequestContext } from '../../gateway/request/request-context.ts';
import type { Peers } from './address.ts';
import type { Repeats } from './repeats.ts';
import type { Sockets } from './sockets.ts';

/**
 * Seconds for which a complete or overdue answer may stay unread. After this time, the connection of an unread answer is closed, because
 * the answer holds memory.
 */
export const UNREAD_S = 30;

/** Seconds after which a client that does not read its stream is disconnected. */
export const STALLED_S = 60;

/** The running server. */
export interface EdgeServer extends Peers {
  /** Closes the connection of a request after this many seconds without traffic; 0 for never. */
  timeout(request: Request, seconds: number): void;
}

/** Runs work for which a client may wait longer than its connection may be idle. */
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

/** A key with which another person or key sends requests, and the ID of that user or key. */
export interface KeySender {
  readonly keyId: string;
  readonly sentBy: string;
}

/** A connection that began as a single request and carries further requests. */
export interface RequestCarrier {
  /** Replaces the credentials of the carried requests; absent if they have their own. */
  readonly sender?: KeySender;
  /** The address of the caller. */
  readonly address: string;
  /** Closes the connection after this many seconds without traffic; 0 for never. */
  timeout(seconds: number): void;
}

/** The services that route groups share. */
export interface RouteServices {
  readonly gateway: Gateway;
  readonly pipeline: Pipeline;
  readonly idempotency: Idempotency;
  readonly repeats: Repeats;
  /**
   * Checks before a stored answer is sent again, by method and path: `POST /admin/keys`. Each check throws SignalboxError if the caller may
   * no longer get the answer to this body.
   */
  readonly repeatChecks: Map<string, (request: Request, body: unknown) => Promise<void>>;
  /** Returns the secret with which stored answers of a token's subject are encrypted, by the subject's ID. */
  readonly answerSecretOf: Tokens['answerSecretOf'];
  /** Returns the ID of the key that a text may be, without a check of its secret; undefined for none. */
  keyIdOf(text: string): string | undefined;
  /** Returns the caller of a request on a route that needs a key. */
  callerOf(request: Request): Caller;
  contextOf(request: Request): RequestContext;
  /**
   * Checks the caller of an admitted request again after a long wait, and stores its current terms in the context.
   * @throws SignalboxError if, for example, its key has been revoked
   */
  readmit(request: Request, context: RequestContext): Promise<void>;
  /** Returns the caller's address as trusted proxies report it; null if the connection is gone. */
  addressOf(request: Request): string | null;
  /** Returns the caller of a request, and the name under which the audit trail lists it. */
  principalOf(request: Request): Principal;
  /** Returns how much a caller may see of keys and sessions. */
  sightOf(by: Principal): Sight;
  /**
   * Waits for the request's turn, and reads its JSON body.
   * @throws SignalboxError
   */
  bodyOf(request: Request, context: RequestContext): Promise<unknown>;
  /** The same for a body with a prompt. The server may keep the conversation for its next turn. */
  promptOf(request: Request, context: RequestContext): Promise<unknown>;
  /** Answers a request that arrived over another connection of its caller. */
  handle(request: Request, carrier: RequestCarrier): Promise<Response>;
  /**
   * Reports a request that was refused before it was handled, such as a frame of a connection that is busy.
   * @returns the ID of the request
   */
  refuse(caller: Caller, request: Pick<Request, 'url' | 'headers'>, error: SignalboxError): string;
  readonly sockets: Sockets;
  /** Seconds before a stalled client is disconnected: `STALLED_S`, or less in tests. */
  readonly stalledS: number;
  /** Returns the server; null if none listens. Elysia's own access to it slows down every route that uses it. */
  server(): EdgeServer | null;
}
