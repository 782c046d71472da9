/**
 * What a server ends when it shuts down, in reverse order of the opening. Each part of a server adds itself when it opens. State: shutdown.
 */
export class ServerLife {
  /** Stops what begins work by itself, such as timers. Disposed before the requests in progress are drained. */
  readonly stops = new DisposableStack();
  /** Closes what requests in progress still use. Disposed after the drain. */
  readonly closes = new AsyncDisposableStack();
  /** The exit code: 1 if a settlement is lost. */
  exitCode: 0 | 1 = 0;
}
