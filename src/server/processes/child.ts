import { type MessageToChild, type MessageToParent, messageToChild } from './messages.ts';

/** A server as its parent uses it. */
interface ServingProcess {
  readonly address: string;
  /** Makes the page of metrics. */
  metrics(): string;
  reload(): void;
  /** Has callers find the other processes, then stops. */
  leave(): void;
  /** Stops; does nothing where it has begun to. */
  stop(): void;
  /** Ends at once. */
  end(): void;
}

/** The parent of this process, which is told that it waits or serves, and asks things of it from then on. */
export interface Parent {
  /** All places for servers at the database are taken, and this process waits for one. */
  waiting(): void;
  serving(server: ServingProcess): void;
}

/** The channel of a process to its parent. */
export interface ParentChannel {
  send(message: MessageToParent): void;
  onMessage(listener: (message: unknown) => void): void;
  /** The parent has ended. */
  onEnd(listener: () => void): void;
}

/** @param exit ends this process at once, if its parent ends before it serves */
export function parentOver({ send, onMessage, onEnd }: ParentChannel, exit: () => void): Parent {
  // Without a parent it would share the port with the processes of the next start.
  let stop = exit;
  onEnd(() => stop());
  return {
    waiting: () => send({ kind: 'waiting' }),
    serving(server) {
      const answers: { readonly [Kind in MessageToChild['kind']]: (id: number) => void } = {
        leave: server.leave,
        stop: server.stop,
        end: server.end,
        reload: server.reload,
        metrics: (id) => send({ kind: 'metrics', id, page: server.metrics() }),
      };
      onMessage((received) => {
        const message = messageToChild(received);
        if (message) answers[message.kind]('id' in message ? message.id : 0);
      });
      stop = server.stop;
      send({ kind: 'serving', address: server.address });
    },
  };
}
