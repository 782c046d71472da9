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

/** The dimensions of the ledger. A report can group by several of them, and by `label:NAME`. */
export const GROUPINGS = [
  ...(['day', 'month', 'key', 'team', 'user', 'model', 'provider'] as const),
  ...(['selector', 'session', 'agent'] as const),
] as const;
export type Grouping = (typeof GROUPINGS)[number] | LabelGrouping;
/** The dimensions of traffic. A report can group by one of them, or by `label:NAME`. */
export const TRAFFIC_GROUPINGS = TRAFFIC_DIMENSIONS.filter((dimension) => dimension !== 'label');

export const isLabel = (text: string): text is LabelGrouping => text.startsWith(LABEL) && text.length > LABEL.length;
export const labelOf = (grouping: LabelGrouping): string => grouping.slice(LABEL.length);

/** Reads a grouping. @throws SignalboxError */
export function groupingIn<Name extends string>(
  text: string,
  known: readonly Name[],
  param = 'by',
): Name | LabelGrouping {
  const found = isLabel(text) ? text : known.find((one) => one === text);
  return found ?? refuse(param, `\`${param}\` must be ${known.join(', ')} or label:NAME, not ${shown(text)}.`);
}

/** Reads groupings of the ledger, separated by commas. @throws SignalboxError */
export function groupingsIn(text: string): readonly Grouping[] {
  const found = text.split(',').map((part) => groupingIn(part.trim(), GROUPINGS));
  const repeated = found.find((one, at) => found.indexOf(one) !== at);
  return repeated ? refuse('by', `\`by\` names ${repeated} twice. Name it once.`) : found;
}

/** Values of dimensions. The value of `label` is `name=value`. */
export type TrafficFilters = Readonly<Partial<Record<TrafficDimension, string>>>;

export const dimensionOf = (by: TrafficGrouping): TrafficDimension => (isLabel(by) ? 'label' : by);

/** The common beginning of the names of a grouping's series. Answers leave out the common prefix of the names. */
export const prefixOf = (by: TrafficGrouping): string => (isLabel(by) ? labelPrefix(labelOf(by)) : '');

/** Returns the name of the series that a filter selects. @throws SignalboxError */
export function filterSeries(dimension: TrafficDimension, value: string): string {
  if (dimension !== 'label') return value;
  const at = value.indexOf('=');
  if (at < 1) refuse('label', `\`label\` must have the form name=value, not ${shown(value)}.`);
  return labelSeries(value.slice(0, at), value.slice(at + 1));
}
