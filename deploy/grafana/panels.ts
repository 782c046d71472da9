import { PanelBuilder as BarGauge } from '@grafana/grafana-foundation-sdk/bargauge';
import {
  BigValueColorMode,
  BigValueGraphMode,
  LegendDisplayMode,
  LegendPlacement,
  ReduceDataOptionsBuilder,
  SortOrder,
  StackingConfigBuilder,
  StackingMode,
  TooltipDisplayMode,
  VisibilityMode,
  VizLegendOptionsBuilder,
  VizOrientation,
  VizTooltipOptionsBuilder,
} from '@grafana/grafana-foundation-sdk/common';
import {
  FieldColorBuilder,
  FieldColorModeId,
  MappingType,
  RowBuilder,
  ThresholdsConfigBuilder,
  ThresholdsMode,
  type ValueMap,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { DataqueryBuilder } from '@grafana/grafana-foundation-sdk/prometheus';
import { PanelBuilder as Stat } from '@grafana/grafana-foundation-sdk/stat';
import { PanelBuilder as StateTimeline } from '@grafana/grafana-foundation-sdk/statetimeline';
import { PanelBuilder as TimeSeries } from '@grafana/grafana-foundation-sdk/timeseries';

/** A series of a panel: a query with the words of its legend, such as `{{model}}`. */
export type Query = readonly [expression: string, legend: string];

/** A bound with the colour from there on. */
export type Step = readonly [from: number | null, colour: string];

export interface Panel {
  readonly title: string;
  /** One or two sentences for a person who sees the panel for the first time. */
  readonly description: string;
  /** A unit of Grafana's list, or `CREDITS` for money. */
  readonly unit: string;
  readonly queries: readonly Query[];
  /** Number of Grafana's 24 columns. */
  readonly width: number;
  readonly min?: number;
  readonly max?: number;
  readonly decimals?: number;
  readonly steps?: readonly Step[];
}

export interface Curves extends Panel {
  readonly stacked?: true;
}

export interface States extends Panel {
  /** Text and colour of each value. */
  readonly states: Readonly<Record<number, readonly [text: string, colour: string]>>;
}

export const CREDITS = 'suffix: Cr';
export const SOURCE = { type: 'prometheus', uid: '$datasource' } as const;

/** Every query uses these matchers, which select the chosen servers. */
export const AT = 'job=~"$job", instance=~"$instance"';
/** Selects chats on the chosen servers. If no endpoint answered, model and provider are empty, and the choice `All` includes them. */
export const CHAT = `${AT}, selector=~"$selector", model=~"$model", provider=~"$provider"`;
/** Selects endpoints on the chosen servers. */
export const ENDPOINT = `${AT}, model=~"$model", provider=~"$provider"`;

/** The median and a high quantile of a histogram, over all matching series together. */
export const quantiles = (histogram: string, matchers: string): Query[] =>
  [0.5, 0.95, 0.99].map((share) => [
    `histogram_quantile(${share}, sum by (le) (rate(${histogram}_bucket{${matchers}}[$__rate_interval])))`,
    `p${share * 100}`,
  ]);

const HEIGHT = { stat: 4, panel: 8 } as const;

export const row = (title: string): RowBuilder => new RowBuilder(title);

/** Curves over time. */
export function curves({ stacked, steps, ...panel }: Curves): TimeSeries {
  const builder = common(new TimeSeries(), panel)
    .height(HEIGHT.panel)
    .fillOpacity(stacked ? 30 : 8)
    .lineWidth(1)
    .showPoints(VisibilityMode.Never)
    .spanNulls(false)
    .colorScheme(new FieldColorBuilder().mode(FieldColorModeId.PaletteClassicByName))
    .tooltip(new VizTooltipOptionsBuilder().mode(TooltipDisplayMode.Multi).sort(SortOrder.Descending))
    .legend(legend());
  if (stacked) builder.stacking(new StackingConfigBuilder().mode(StackingMode.Normal).group('A'));
  if (steps) builder.thresholds(thresholds(steps));
  return builder;
}

/** One figure, for the current moment or for the whole range shown. */
export function figure({ steps, ...panel }: Panel): Stat {
  return common(new Stat(), panel, true)
    .height(HEIGHT.stat)
    .colorMode(steps ? BigValueColorMode.Value : BigValueColorMode.None)
    .graphMode(BigValueGraphMode.None)
    .reduceOptions(new ReduceDataOptionsBuilder().calcs(['lastNotNull']).values(false))
    .thresholds(thresholds(steps ?? [[null, 'text']]));
}

/** A bar for each series. */
export function bars({ steps, ...panel }: Panel): BarGauge {
  return common(new BarGauge(), panel, true)
    .height(HEIGHT.panel)
    .orientation(VizOrientation.Horizontal)
    .reduceOptions(new ReduceDataOptionsBuilder().calcs(['lastNotNull']).values(false))
    .colorScheme(new FieldColorBuilder().mode(FieldColorModeId.Thresholds))
    .thresholds(thresholds(steps ?? [[null, 'blue']]));
}

/** The names of the series below a panel. */
const legend = () =>
  new VizLegendOptionsBuilder()
    .displayMode(LegendDisplayMode.List)
    .placement(LegendPlacement.Bottom)
    .showLegend(true)
    .calcs([]);

/** The state of each series over time. */
export function timeline({ states, ...panel }: States): StateTimeline {
  return common(new StateTimeline(), panel)
    .height(HEIGHT.panel)
    .mappings([mapping(states)])
    .mergeValues(true)
    .showValue(VisibilityMode.Never)
    .lineWidth(0)
    .fillOpacity(80)
    .legend(legend());
}

type Builder = TimeSeries | Stat | BarGauge | StateTimeline;

function common<B extends Builder>(builder: B, panel: Omit<Panel, 'steps'>, isInstant = false): B {
  builder
    .title(panel.title)
    .description(panel.description)
    .unit(panel.unit)
    .datasource(SOURCE)
    .span(panel.width)
    .targets(panel.queries.map((query, at) => target(query, String.fromCharCode(65 + at), isInstant)));
  if (panel.min !== undefined) builder.min(panel.min);
  if (panel.max !== undefined) builder.max(panel.max);
  if (panel.decimals !== undefined) builder.decimals(panel.decimals);
  return builder;
}

function target([expression, legend]: Query, refId: string, isInstant: boolean): DataqueryBuilder {
  const query = new DataqueryBuilder().refId(refId).datasource(SOURCE).expr(expression).legendFormat(legend);
  return isInstant ? query.instant() : query.range();
}

const thresholds = (steps: readonly Step[]): ThresholdsConfigBuilder =>
  new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps(steps.map(([value, color]) => ({ value, color })));

const mapping = (states: States['states']): ValueMap => ({
  type: MappingType.ValueToText,
  options: Object.fromEntries(
    Object.entries(states).map(([value, [text, color]], index) => [value, { text, color, index }]),
  ),
});
