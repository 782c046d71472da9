import { createHash } from 'node:crypto';
import type { HTTPHeaders } from 'elysia';
import type { Claim, ClaimRefusal, Idempotency } from '../access/idempotency/idempotency.ts';
import { NameTaken } from '../access/idempotency/run.ts';
import { bearerOf, secretOf } from '../access/key.ts';
import { orNothingDone } from '../admin/kit/refusals.ts';
import { SignalboxError } from '../core/errors.ts';
import { idText, parseId } from '../core/id.ts';
import type { RequestContext } from '../gateway/request/request-context.ts';
import { orOverloaded } from '../store/unwritten.ts';
import { cookieIn, LOGIN_COOKIE } from './console/cookies.ts';
import type { DailyChanges } from './daily-changes.ts';
import { credentialsIn } from './kit/credentials.ts';
import { UNREADABLE } from './kit/repeats.ts';
import { checkName, keyReused, stillRunning } from './kit/replay.ts';
import type { RouteServices } from './kit/route-services.ts';
import { isOnceForName, type RouteTable } from './kit/route-table.ts';
import { codeOf, writtenResponse } from './kit/written-answer.ts';
import { operatorOf } from './operator-socket.ts';

interface ChangeServices extends Pick<RouteServices, 'bodyOf' | 'repeats' | 'repeatChecks'> {
  readonly idempotency: Pick<Idempotency, 'claim'>;
  readonly routes: RouteTable;
  readonly changes: Pick<DailyChanges, 'giveBack'>;
  /** Sends an admitted request through the server's routes again. An error of `end` is answered as an error of the request. */
  pass(request: Request, end: Promise<void>): Promise<Response>;
}

type OpenRun = Extract<Claim, { kind: 'run' }>['run'];

/**
 * Runs each change with an `Idempotency-Key` only once, on every route of `isOnceForName`. This check happens before the routes, so no
 * route needs code for it.
 */
export function changesOnce({ idempotency, repeats, repeatChecks, bodyOf, routes, pass, changes }: ChangeServices) {
  /** Bodies of requests that have begun. These bodies are read for their hash before the routes request them. */
  const bodies = new WeakMap<Request, { readonly body: unknown }>();

  const claim = async (request: Request, context: RequestContext): Promise<Response | OpenRun> => {
    const { idempotencyKey: named, method } = context;
    if (named === null) throw new Error('A change was claimed without an Idempotency-Key.');
    checkName(named);
    if (routes.at(context.route)?.methods.get(method)?.body !== 'none') {
      bodies.set(request, { body: await bodyOf(request, context) });
    }
    const { keyId } = context.knownCaller;
    const claimed = await orOverloaded(UNREADABLE, () =>
      idempotency.claim({
        keyId,
        secret: proofIn(request.headers),
        idempotencyKey: named,
        body: changeHash(request, context.body.hash),
        isChange: true,
      }),
    );
    if (claimed.kind === 'replay') {
      await repeatChecks.get(`${method} ${context.route}`)?.(request, bodies.get(request)?.body);
      const repeat = await repeats.open(claimed, keyId, context);
      const { answer } = repeat;
      if (!answer || 'parts' in answer) {
        repeat.leave();
        throw refusalOf({ kind: 'unavailable', decision: claimed.decision });
      }
      changes.giveBack(request);
      context.answer.replays(codeOf(answer), null);
      return writtenResponse(answer, repeat);
    }
    if (claimed.kind !== 'run') throw refusalOf(claimed);
    await begin(claimed.run, context);
    return claimed.run;
  };

  return {
    /**
     * Answers an admitted request with an `Idempotency-Key` on a route that supports it. Returns null for other requests, and for a request
     * that has already begun. The key of an operator's request over the socket is ignored, because that request has no secret.
     * @param headers the headers that every response to this request has
     */
    answerTo(request: Request, context: RequestContext, headers: HTTPHeaders): Promise<Response> | null {
      if (context.idempotencyKey === null || !isOnceForName(context.method, context.route)) return null;
      if (bodies.has(request) || operatorOf(request)) return null;
      bodies.set(request, { body: {} });
      return answered(request, context, headers);
    },
    /** The body of a request that has begun, wrapped in an object; undefined for other requests. */
    bodyOf: (request: Request) => bodies.get(request),
  };

  async function answered(request: Request, context: RequestContext, headers: HTTPHeaders): Promise<Response> {
    const claiming = claim(request, context);
    const found = await claiming.catch(() => null);
    if (found === null)
      return pass(
        request,
        claiming.then(() => {}),
      );
    if (found instanceof Response) {
      for (const [name, value] of Object.entries(headers)) found.headers.set(name, String(value));
      context.handled(found.status, context.answer.code);
      return found;
    }
    return keptAnswer(await pass(request, Promise.resolve()), found, headers);
  }
}

/**
 * Claims the name before the change starts. A change has no decision, so the entry contains the request ID, which also finds the change in
 * the audit trail.
 */
async function begin(run: OpenRun, { requestId }: RequestContext): Promise<void> {
  try {
    await orNothingDone(() => run.begin(parseId('req_', requestId) ?? 0));
  } catch (cause) {
    await run.drop();
    throw cause instanceof NameTaken ? stillRunning('Idempotency-Key', true) : cause;
  }
}

/**
 * Stores an answer before it is sent. A refusal has changed nothing, so its name becomes free again. After an internal error the name stays
 * taken, because the change may have been made before the error.
 */
async function keptAnswer(response: Response, run: OpenRun, ofRequest: HTTPHeaders): Promise<Response> {
  const { status } = response;
  if (!response.ok && status !== 500) {
    await run.drop();
    return response;
  }
  const body = await response.text();
  const headers = [...response.headers].filter(([name]) => !Object.hasOwn(ofRequest, name));
  await run.keep({ status, headers: Object.fromEntries(headers), body });
  return new Response(body === '' ? null : body, { status, headers: response.headers });
}

/**
 * Returns the secret with which the caller authenticated. The stored answer is encrypted with this secret, because it may contain a new
 * key, and a copy of the database must not reveal that key. A repeat with another login or token of the same caller is refused.
 */
function proofIn(headers: Headers): string {
  const bearer = bearerOf(credentialsIn(headers) ?? '');
  const proof = bearer === null ? cookieIn(headers, LOGIN_COOKIE) : secretOf(bearer);
  if (proof === null) throw new Error('A change was admitted without a key, a token or a login.');
  return proof;
}

/** The hash of a change includes the path, because the same body at another path is a different request. */
function changeHash({ method, url }: Request, body: Uint8Array | null): Uint8Array {
  const { pathname, search } = new URL(url);
  return createHash('sha256')
    .update(`${method} ${pathname}${search}\0`)
    .update(body ?? '')
    .digest();
}

function refusalOf(refusal: ClaimRefusal): SignalboxError {
  switch (refusal.kind) {
    case 'in-flight':
      return stillRunning('Idempotency-Key', true);
    case 'reused':
      return keyReused();
    default: {
      const request = idText('req_', refusal.decision);
      return new SignalboxError(
        'idempotency_answer_unavailable',
        `Request ${request} started this change, but its answer cannot be repeated. The audit trail shows whether it changed anything. To send the change again, use a new Idempotency-Key.`,
        { param: 'Idempotency-Key', details: { request_id: request } },
      );
    }
  }
}
