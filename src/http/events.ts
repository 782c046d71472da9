import { Elysia } from 'elysia';
import type { Levels } from '../access/levels.ts';
import type { SignIn } from '../access/sign-in/sign-in.ts';
import { tokenIn } from '../access/tokens/form.ts';
import { checkFollower } from '../admin/use-cases/events.ts';
import { holderOf } from '../admin/use-cases/places.ts';
import type { Caller } from '../core/people/caller.ts';
import type { PolicySnapshot } from '../core/policy/snapshot.ts';
import { iso } from '../core/time/clock.ts';
import type { AdmissionRules } from './admission.ts';
import { cookieIn, LOGIN_COOKIE } from './console/cookies.ts';
import type { LoginDoor } from './console/login-door.ts';
import type { EventFeed } from './event-feed.ts';
import { type EventStream, EventStreams, type Follower } from './event-streams.ts';
import { credentialsIn } from './kit/credentials.ts';
import { takeHeaders } from './kit/response.ts';
import { routeDocs } from './kit/route-docs.ts';
import type { RouteServices } from './kit/route-services.ts';
import { sendTexts } from './kit/stream.ts';
import { FeedEvent } from './schemas/events.ts';

/** The facts that decide whether a caller may follow events. */
interface Judges extends Pick<AdmissionRules, 'authenticate'> {
  readonly tokens: Pick<AdmissionRules['tokens'], 'find'>;
  readonly levels?: Pick<Levels, 'of'>;
  readonly signIn: Pick<SignIn, 'of'>;
  readonly door: Pick<LoginDoor, 'loginOf'>;
}

export interface EventServices extends RouteServices {
  readonly feed: EventFeed;
  readonly judges: Judges;
}

/** `GET /admin/events`: the events of this server as they happen. */
export function eventRoutes(services: EventServices) {
  const { gateway, feed, judges, principalOf, callerOf, server, stalledS } = services;
  const streams = new EventStreams(feed, gateway.clock, () => gateway.isDraining);
  const policy = () => gateway.lease().snapshot;
  return new Elysia({ name: 'events' }).get(
    '/admin/events',
    ({ request, set }) => {
      checkFollower(principalOf(request));
      const follower = followerOf(request, callerOf(request), judges, policy);
      const stream = streams.open(follower, request.headers.get('last-event-id'), iso(gateway.now()));
      request.signal.addEventListener('abort', () => stream.end());
      server()?.timeout(request, stalledS);
      const headers = takeHeaders(set.headers);
      for (const [name, value] of Object.entries(HEADERS)) headers.set(name, value);
      return new Response(bodyOf(stream), { headers });
    },
    DOCS,
  );
}

const HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
};

const bodyOf = (stream: EventStream): ReadableStream =>
  new ReadableStream({
    type: 'direct',
    pull: (sink) => sendTexts(stream, sink).finally(() => stream.end()),
    cancel: () => stream.end(),
  });

/** Remembers how a request was admitted, and checks later whether that is still valid. */
function followerOf(
  request: Request,
  caller: Caller,
  { authenticate, tokens, levels, signIn, door }: Judges,
  policy: () => Pick<PolicySnapshot, 'tokens'>,
): Follower {
  const holder = holderOf(caller);
  const login = door.loginOf(request);
  const cookie = cookieIn(request.headers, LOGIN_COOKIE);
  if (login && cookie !== null) {
    return { holder, callerNow: () => signIn.of(cookie)?.caller ?? null };
  }
  const credentials = credentialsIn(request.headers);
  const token = tokenIn(credentials);
  const callerNow = () => {
    const found = authenticate(credentials).caller ?? (token === null ? null : tokens.find(token, policy().tokens));
    return found && (levels?.of(found) ?? found);
  };
  return { holder, callerNow };
}

const DOCS = routeDocs({
  access: 'events.read',
  summary: 'Follow what happens',
  description:
    'A stream of server-sent events: decisions, alerts, policies that become active or are refused, and endpoints that change their state. Events never contain prompts or answers. Each caller gets the events that it may list: a member gets the decisions of its own keys. After a disconnect, send the last ID as the header `Last-Event-ID` to continue. If some events since then are no longer kept, the first event is `reset`: read the lists again. A stream ends with its login or key, after half an hour, at a shutdown, and if 600 events wait for its reader. A user or key can have 16 open streams over all its logins. Each server reports its own events.',
  answer: { schema: FeedEvent, description: 'The events.', mediaType: 'text/event-stream' },
});
