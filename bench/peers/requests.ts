import { type Judge, type Requests, run, type Sample } from '../load.ts';
import { bytesOf, httpBytes, sessionRequests, type Workload } from '../workload.ts';
import type { RunningGateway } from './running.ts';

/** The complete text that the upstream of the benchmark returns; see upstream.ts. */
const TEXT = 'word '.repeat(100).trim();
const CHUNKS = 50;
const isWholeReply: Judge = (body) => body.includes(`"${TEXT}"`) && body.trimEnd().endsWith('}');
const isWholeStream: Judge = (body) =>
  body.split('"word "').length === CHUNKS + 1 &&
  /"finish_reason": ?"stop"/.test(body) &&
  body.trimEnd().endsWith('data: [DONE]');

/**
 * Sends a gateway this many requests of one workload, and counts the answers that differ from the upstream's. Each request has its own
 * prompt, or is the next turn of a conversation; conversations go on from one call to the next.
 */
export type Send = (inFlight: number, requests: number) => Promise<Sample>;

export function senderOf(gateway: RunningGateway, workload: Workload): Send {
  const { url, key, model, headers = {} } = gateway;
  const { port, pathname, search } = new URL(url);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const bytes = (body: object) => httpBytes(Number(port), `${pathname}${search}`, key, body, lines);
  const next: Requests =
    workload.sessionBytes === undefined
      ? bytesOf(bytes({ model, ...workload.fields }), 'own')
      : sessionRequests(workload, bytes, model);
  const judge = workload.stream ? isWholeStream : isWholeReply;
  return (inFlight, requests) => run(Number(port), next, inFlight, requests, judge);
}
