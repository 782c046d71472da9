import { startOwnServer } from '../../support/own-server.ts';

/** A request as a receiver of alerts got it. */
export interface ReceivedAlert {
  readonly path: string;
  readonly headers: Headers;
  readonly body: string;
  /** The ID of the message; undefined in Slack's form. */
  readonly id: string | undefined;
  readonly text: string;
}

export interface AlertReceiver extends Disposable {
  readonly url: string;
  readonly received: ReceivedAlert[];
  /** Statuses of the next answers by path, before 200 for all. */
  readonly statuses: Map<string, number[]>;
  /** The answers wait for it while it is not null. */
  hold: Promise<unknown> | null;
}

/** A service on loopback that takes alerts. A status from 300 to 399 leads to `/elsewhere`. */
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
