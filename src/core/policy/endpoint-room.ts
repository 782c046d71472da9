import type { Awaitable } from '../awaitable.ts';
import type { EndpointLimits } from './snapshot.ts';

/** The limits of an endpoint, as the policy names them. */
export const ENDPOINT_LIMITS = ['requests_per_minute', 'tokens_per_minute', 'concurrent_requests'] as const;
export type EndpointLimitName = (typeof ENDPOINT_LIMITS)[number];

/** How much of a limit is used. */
export interface LimitUse {
  readonly limit: EndpointLimitName;
  /** The figure in the policy. */
  readonly most: number;
  /** The used share, 0 to 1. Several servers together use it, except that each server knows only its own concurrent requests. */
  readonly used: number;
}

/** The limit that stops an attempt. */
export interface EndpointShortage {
  readonly limit: EndpointLimitName;
  readonly most: number;
  /** Milliseconds until a new attempt makes sense. */
  readonly waitMs: number;
}

/** An attempt's share of the limits. Only the first call of `end` and `undo` counts. */
export interface EndpointStay {
  /**
   * Gives the concurrent place back, and replaces the estimated tokens by the used tokens.
   * @param usedTokens of input and output; null if they are not known, so that the estimate stays
   */
  end(usedTokens: number | null): void;
  /** Gives back what was taken, because no request was sent. A request returns only in the same millisecond; later it refills with time. */
  undo(): void;
}

/** The units that remain of the limits of the provider; absent if it does not report them. */
export interface RemainingUnits {
  readonly requests?: number;
  readonly tokens?: number;
}

/** The limits of an endpoint, and how much of them is used. All servers that share a database count together. */
export interface EndpointRoom {
  /** The used share of the limit that is used most, 0 to 1. */
  load(): number;
  /** The used share of each limit that the policy states. */
  uses(): readonly LimitUse[];
  /**
   * Whether an attempt would probably be admitted. Changes nothing, and asks no other server.
   * @param tokens estimated tokens of input and output
   */
  hasRoom(tokens: number): boolean;
  /**
   * Takes a place for an attempt from all limits, or from none.
   * @param tokens estimated tokens of input and output
   * @param requests the requests that the attempt sends; 1 if absent
   * @param places how many of them run at the same time; 1 if absent
   * @returns a promise if the store must be asked. It never rejects: if the store fails, there is no room
   */
  begin(tokens: number, requests?: number, places?: number): Awaitable<EndpointStay | EndpointShortage>;
  /**
   * Lowers the levels to what remains according to the provider. It never raises a level. The tokens that running attempts return do not
   * raise the level above what remains.
   */
  correct(remaining: RemainingUnits): void;
}

/** Makes the rooms of endpoints. The counts of an endpoint outlive its rooms. */
export interface EndpointRooms {
  /** @param endpoint the names of the endpoint and its account as one text; rooms with the same text share their counts */
  room(endpoint: string, limits: EndpointLimits): EndpointRoom;
}

/** Whether an attempt got no place. */
export const isShort = (answer: EndpointStay | EndpointShortage): answer is EndpointShortage => 'waitMs' in answer;
