import { LABEL } from '../../../core/accounting/entry.ts';
import { refuse } from '../../../core/errors.ts';
import {
  type LabelGrouping,
  labelPrefix,
  labelSeries,
  TRAFFIC_DIMENSIONS,
  type TrafficDimension,
  type TrafficGrouping,
} from '../../../store/traffic.ts';
import { shown } from './period.ts';

/** The dimensions of the books: a report groups by several at once, also by `label:NAME`. */
export const GROUPINGS = [
  ...(['day', 'month', 'key', 'team', 'user', 'model', 'provider'] as const),
  ...(['selector', 'session', 'agent'] as const),
] as const;
export type Grouping = (typeof GROUPINGS)[number] | LabelGrouping;
/** The dimensions of traffic: a report groups by one at a time, also by `label:NAME`. */
export const TRAFFIC_GROUPINGS = TRAFFIC_DIMENSIONS.filter((dimension) => dimension !== 'label');

export const isLabel = (text: string): text is LabelGrouping => text.startsWith(LABEL) && text.length > LABEL.length;
export const labelOf = (grouping: LabelGrouping): string => grouping.slice(LABEL.length);

/** Reads a grouping. @throws SignalboxError */
export function groupingIn<Name extends string>(text: string, known: readonly Name[]): Name | LabelGrouping {
  const found = isLabel(text) ? text : known.find((one) => one === text);
  return found ?? refuse('by', `\`by\` takes ${known.join(', ')} or label:NAME, not ${shown(text)}.`);
}

/** Reads groupings of the books, with commas. @throws SignalboxError */
export function groupingsIn(text: string): readonly Grouping[] {
  const found = text.split(',').map((part) => groupingIn(part.trim(), GROUPINGS));
  const repeated = found.find((one, at) => found.indexOf(one) !== at);
  return repeated ? refuse('by', `\`by\` names ${repeated} twice.`) : found;
}

/** Values of dimensions; of `label`, `name=value`. */
export type TrafficFilters = Readonly<Partial<Record<TrafficDimension, string>>>;

export const dimensionOf = (by: TrafficGrouping): TrafficDimension => (isLabel(by) ? 'label' : by);

/** How the series of a grouping begin; answers leave it out. */
export const prefixOf = (by: TrafficGrouping): string => (isLabel(by) ? labelPrefix(labelOf(by)) : '');

/** The series that a filter means. @throws SignalboxError */
export function filterSeries(dimension: TrafficDimension, value: string): string {
  if (dimension !== 'label') return value;
  const at = value.indexOf('=');
  if (at < 1) refuse('label', `\`label\` must have the form name=value, not ${shown(value)}.`);
  return labelSeries(value.slice(0, at), value.slice(at + 1));
}
