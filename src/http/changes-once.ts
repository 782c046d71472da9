import { createHash } from 'node:crypto';
import type { HTTPHeaders } from 'elysia';
import type { Claim, Idempotency } from '../access/idempotency/idempotency.ts';
import { NameTaken } from '../access/idempotency/run.ts';
import { bearerOf, parseKey } from '../access/key.ts';
import { orNothingDone } from '../admin/kit/refusals.ts';
import { SignalboxError } from '../core/errors.ts';
import { idText, parseId } from '../core/id.ts';
import type { RequestContext } from '../gateway/request/request-context.ts';
import { orOverloaded } from '../store/unwritten.ts';
import { cookieIn, LOGIN_COOKIE } from './console/cookies.ts';
import { credentialsIn } from './credentials.ts';
import type { DailyChanges } from './daily-changes.ts';
import { checkName, keyReused, stillRunning, UNREADABLE } from './replay.ts';
import type { RouteServices } from './route-services.ts';
import { isOnceForName, type RouteTable } from './route-table.ts';
import { codeOf, writtenResponse } from './written-answer.ts';

interface ChangeServices extends Pick<RouteServices, 'bodyOf'> {
  readonly idempotency: Pick<Idempotency, 'claim'>;
  readonly routes: RouteTable;
  readonly changes: Pick<DailyChanges, 'giveBack'>;
  /** Goes through the edge with an admitted request once more; an error of `end` is answered as one of the request. */
  pass(request: Request, end: Promise<void>): Promise<Response>;
}

type OpenRun = Extract<Claim, { kind: 'run' }>['run'];

/**
 * Requests that change something and have an `Idempotency-Key`: each is carried out once for its name, on every route of
 * `isOnceForName`. They stand before the routes, so that no route does anything for it.
 */
export function changesOnce({ idempotency, bodyOf, routes, pass, changes }: ChangeServices) {
  /** The bodies of requests that have begun: they are read for their hash, before their routes ask. */
  const bodies = new WeakMap<Request, { readonly body: unknown }>();

  const claim = async (request: Request, context: RequestContext): Promise<Response | OpenRun> => {
    const { idempotencyKey: named, method } = context;
    if (named === null) throw new Error('a change without a name was claimed');
    checkName(named);
    if (routes.at(context.route)?.methods.get(method)?.body !== 'none') {
      bodies.set(request, { body: await bodyOf(request, context) });
    }
    const claimed = await orOverloaded(UNREADABLE, () =>
      idempotency.claim({
        ...{ keyId: context.knownCaller.keyId, secret: proofIn(request.headers), idempotencyKey: named },
        ...{ body: changeHash(request, context.bodyHash), isChange: true },
      }),
    );
    if (claimed.kind === 'replay' && !('parts' in claimed.answer)) {
      changes.giveBack(request);
      context.isReplayed = true;
      context.code = codeOf(claimed.answer);
      return writtenResponse(claimed.answer);
    }
    if (claimed.kind !== 'run') throw refusalOf(claimed);
    await begin(claimed.run, context);
    return claimed.run;
  };

  return {
    /**
     * The answer to an admitted request with a name, on a route where that counts; null for others, and once it has begun.
     * @param headers those that every answer to this request has
     */
    answerTo(request: Request, context: RequestContext, headers: HTTPHeaders): Promise<Response> | null {
      if (context.idempotencyKey === null || !isOnceForName(context.method, context.route)) return null;
      if (bodies.has(request)) return null;
      bodies.set(request, { body: {} });
      return answered(request, context, headers);
    },
    /** The body of a request that has begun, in an object; undefined for others. */
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
      context.handled(found.status, context.code);
      return found;
    }
    return keptAnswer(await pass(request, Promise.resolve()), found, headers);
  }
}

/** Claims the name before anything is done. A change has no decision: the ID of its request stands there, by which the trail is searched. */
async function begin(run: OpenRun, { requestId }: RequestContext): Promise<void> {
  try {
    await orNothingDone(() => run.begin(parseId('req_', requestId) ?? 0));
  } catch (cause) {
    await run.drop();
    throw cause instanceof NameTaken ? stillRunning('Idempotency-Key', true) : cause;
  }
}

/** Keeps an answer before it is given. A refusal has changed nothing, so its name is free again; a defect may have come up behind the change. */
async function keptAnswer(response: Response, run: OpenRun, ofRequest: HTTPHeaders): Promise<Response> {
  const { status } = response;
  if (!response.ok && status !== 500) {
    await run.drop();
    return response;
  }
  const body = await response.text();
  const headers = [...response.headers].filter(([name]) => !Object.hasOwn(ofRequest, name));
  await run.keep({ status, headers: Object.fromEntries(headers), frame: '', body });
  return new Response(body === '' ? null : body, { status, headers: response.headers });
}

/**
 * What the caller has proved itself by, which the store does not have: the answer may hold the secret of a new key, and a copy of the
 * database must not tell it. A repeat by another login or token of the same caller is refused, and changes nothing.
 */
function proofIn(headers: Headers): string {
  const bearer = bearerOf(credentialsIn(headers) ?? '');
  const proof = bearer === null ? cookieIn(headers, LOGIN_COOKIE) : (parseKey(bearer)?.secret ?? bearer);
  if (proof === null) throw new Error('a change was admitted without a key, a token or a login');
  return proof;
}

/** The same body asks for something else at another path. */
function changeHash({ method, url }: Request, body: Uint8Array | null): Uint8Array {
  const { pathname, search } = new URL(url);
  return createHash('sha256')
    .update(`${method} ${pathname}${search}\0`)
    .update(body ?? '')
    .digest();
}

function refusalOf(refusal: Exclude<Claim, { kind: 'run' }>): SignalboxError {
  switch (refusal.kind) {
    case 'in-flight':
      return stillRunning('Idempotency-Key', true);
    case 'reused':
      return keyReused();
    default: {
      const request = idText('req_', refusal.decision);
      return new SignalboxError(
        'idempotency_answer_unavailable',
        `This request was begun as ${request}, and its answer cannot be repeated. The trail says whether it changed anything. To send it again, use a new Idempotency-Key.`,
        { param: 'Idempotency-Key', details: { request_id: request } },
      );
    }
  }
}
