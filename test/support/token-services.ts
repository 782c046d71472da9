import type { SourceCall, SourceContext, SourceRequest } from '../../src/host/credentials/source.ts';
import { processTimers } from '../../src/host/telemetry/process-timers.ts';
import { startOwnServer } from './own-server.ts';

/** A request that a token service received. */
export interface ServiceRequest {
  readonly method: string;
  /** The address to which the source sent the request. */
  readonly url: URL;
  readonly headers: Headers;
  readonly text: string;
  /** The fields of a form body. */
  readonly form: Readonly<Record<string, string>>;
}

/** The answer to a request: a status with a text, or the JSON of a 200. */
export type ServiceAnswer = (request: ServiceRequest) => Response | object | Promise<Response | object>;

/**
 * Token services and metadata services on this machine. Every request of a source goes to one local server, which learns the address that
 * the source called.
 * @param answers answers by host
 */
export function startTokenServices(answers: Readonly<Record<string, ServiceAnswer>>) {
  const requests: ServiceRequest[] = [];
  const server = startOwnServer(async (request) => {
    const url = new URL(request.headers.get('x-called') ?? '');
    const text = await request.text();
    const form = Object.fromEntries(new URLSearchParams(text));
    const received = { method: request.method, url, headers: request.headers, text, form };
    requests.push(received);
    const answer = (await answers[url.hostname]?.(received)) ?? new Response('unknown host', { status: 404 });
    return answer instanceof Response ? answer : Response.json(answer);
  });
  const callBy =
    (isMetadata: boolean): SourceCall =>
    async ({ url, method, headers = {}, body }: SourceRequest) => {
      if (isMetadata !== METADATA_HOST.test(new URL(url).hostname)) throw new Error(`wrong kind of call: ${url}`);
      const sent = { ...headers, 'x-called': url };
      const reply = await fetch(server.url, { method, headers: sent, ...(body !== undefined && { body }) });
      return { status: reply.status, text: await reply.text() };
    };
  return {
    requests,
    stop: () => server.stop(),
    /** What a source may use, in an environment with these variables. */
    context: (variables: Readonly<Record<string, string>> = {}, now: () => number = Date.now): SourceContext => ({
      now,
      timers: processTimers,
      env: (name) => variables[name],
      secret: (name) => variables[name],
      call: callBy(false),
      callMetadata: callBy(true),
    }),
  };
}

const METADATA_HOST = /^(?:169\.254\.|\[fd00:|metadata\.google\.internal$|localhost$|127\.)/;
