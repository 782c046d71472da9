import { isObject } from '../../core/json/object.ts';
import type { Members } from '../../core/json/original.ts';

/** The types of the last event of a successful answer, which contains the complete `response`. */
export const WHOLE_EVENTS: readonly unknown[] = ['response.completed', 'response.incomplete'];

/** Returns the complete response that an event contains; null for any other event. */
export const wholeResponse = ({ type, response }: Members): Members | null =>
  WHOLE_EVENTS.includes(type) && isObject(response) ? response : null;
