import { Elysia } from 'elysia';
import type { Levels } from '../access/levels.ts';
import type { SignIn } from '../access/sign-in/sign-in.ts';
import { tokenIn } from '../access/tokens/form.ts';
import { checkFollower } from '../admin/use-cases/events.ts';
import { holderOf } from '../admin/use-cases/places.ts';
import type { Caller } from '../core/caller.ts';
import { iso } from '../core/clock.ts';
import type { PolicySnapshot } from '../core/snapshot.ts';
import type { AdmissionRules } from './admission.ts';
import { cookieIn, LOGIN_COOKIE } from './console/cookies.ts';
import type { LoginDoor } from './console/login-door.ts';
import { credentialsIn } from './credentials.ts';
import { routeDocs } from './docs/route-docs.ts';
import type { EventFeed } from './event-feed.ts';
import { type EventStream, EventStreams, type Follower } from './event-streams.ts';
import { takeHeaders } from './response.ts';
import type { RouteServices } from './route-services.ts';
import { FeedEvent } from './schemas/events.ts';
import { sendTexts } from './stream.ts';

/** What the callers of requests are judged by. */
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

/** `GET /admin/events`: what happens at this server, as it happens. */
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

/** Remembers by what a request was admitted, and asks again whether that still holds. */
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
    'A stream of server-sent events: decisions, alerts, policies that come into force or are refused, and endpoints that change their state; never content. Each caller gets what it may list: a member the decisions of its own keys. The header `Last-Event-ID` goes on behind an event; where some since are not kept any more, the event `reset` comes first: read the lists again. A stream ends with its login or key, after half an hour, at a shutdown, and where 600 events wait for its reader; come back with the last ID. A user or key can have 16 streams open, over all its logins. Each instance tells of its own events.',
  answer: { schema: FeedEvent, description: 'The events.', mediaType: 'text/event-stream' },
});
