/** What is traced of a request. Times are taken on the tracer's own clock, at the moment of each call. */

/** The steps of a request, in their order. */
export type Step = 'admit' | 'pin' | 'profile' | 'shortlist' | 'decide' | 'reserve' | 'dispatch' | 'settle';

/** By OpenTelemetry's names where it has one, else `signalbox.…`. What is undefined is left out. */
export type Attributes = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

/** A span as it is told when it ends. */
export interface Told {
  readonly name: string;
  readonly attributes: Attributes;
  /** What went wrong, in one line; null for nothing. */
  readonly error: string | null;
}

/** One request on its way. */
export interface Trace {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** Of the span of the whole request: 16 hexadecimal digits. */
  readonly spanId: string;
  /** False: nothing of it is sent anywhere, and its context goes upstream all the same. */
  readonly isSampled: boolean;
  /** Ends the step under way, and begins this one. */
  step(step: Step): void;
  /** A call upstream begins; its span belongs to the step under way. */
  call(): CallTrace;
  /** Ends the step under way and the span of the whole. Harmless after the first time. */
  end(told: Told): void;
}

export interface CallTrace {
  /** W3C's `traceparent`, and `tracestate` where the caller sent one; none where it is switched off. */
  readonly headers: Readonly<Record<string, string>>;
  /** Harmless after the first time. */
  end(told: Told): void;
}
