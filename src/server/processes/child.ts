import { type MessageToChild, type MessageToParent, messageToChild } from './messages.ts';

/** The functions of a server that its parent process calls. */
interface ServingProcess {
  readonly address: string;
  /** Makes the metrics page of this process. */
  metrics(): string;
  reload(): void;
  /** Makes clients move to the other processes on the port, then stops the server. */
  leave(): void;
  /** Stops the server. `stop` does nothing if the server is already stopping. */
  stop(): void;
  /** Ends the process at once. */
  end(): void;
}

/**
 * The parent of this process. The child reports to its parent that it waits or serves; after that, the parent sends commands to the child.
 */
export interface Parent {
  /** Reports that all slots for servers at the database are taken, and that this process waits for one. */
  waiting(): void;
  serving(server: ServingProcess): void;
}

/** The channel of a process to its parent. */
export interface ParentChannel {
  send(message: MessageToParent): void;
  onMessage(listener: (message: unknown) => void): void;
  /** Calls the listener when the parent has ended. */
  onEnd(listener: () => void): void;
}

/** @param exit ends this process at once if the parent ends before this process serves */
export function parentOver({ send, onMessage, onEnd }: ParentChannel, exit: () => void): Parent {
  // If the parent ends, this process must stop, because it would share the port with the processes of the next start.
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
