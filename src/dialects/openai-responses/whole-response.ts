import { isObject } from '../../core/object.ts';
import type { Members } from '../../core/original.ts';

/** The last event of a good answer, which bears the whole `response`. */
export const WHOLE_EVENTS: readonly unknown[] = ['response.completed', 'response.incomplete'];

/** Returns the whole response that an event bears; null for any other event. */
export const wholeResponse = ({ type, response }: Members): Members | null =>
  WHOLE_EVENTS.includes(type) && isObject(response) ? response : null;
