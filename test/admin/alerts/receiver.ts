import { startOwnServer } from '../../support/own-server.ts';

/** A request that a receiver of alerts got. */
export interface ReceivedAlert {
  readonly path: string;
  readonly headers: Headers;
  readonly body: string;
  /** The ID of the message; undefined in Slack's format. */
  readonly id: string | undefined;
  readonly text: string;
}

export interface AlertReceiver extends Disposable {
  readonly url: string;
  readonly received: ReceivedAlert[];
  /** Statuses of the next answers, by path. When the list for a path is used up, all answers have status 200. */
  readonly statuses: Map<string, number[]>;
  /** If not null, answers wait for this promise. */
  hold: Promise<unknown> | null;
}

/** Starts a local service that receives alerts. An answer with a status from 300 to 399 redirects to `/elsewhere`. */
export function startReceiver(): AlertReceiver {
  const received: ReceivedAlert[] = [];
  const statuses = new Map<string, number[]>();
  const server = startOwnServer(async (request) => {
    const { pathname: path } = new URL(request.url);
    const body = await request.text();
    const { id, text } = JSON.parse(body);
    received.push({ path, headers: request.headers, body, id, text });
    await receiver.hold;
    const status = statuses.get(path)?.shift() ?? 200;
    return new Response('no', { status, headers: { location: `${server.prefix}/elsewhere` } });
  });
  const receiver: AlertReceiver = {
    url: server.url,
    received,
    statuses,
    hold: null,
    [Symbol.dispose]: () => void server.stop(),
  };
  return receiver;
}
