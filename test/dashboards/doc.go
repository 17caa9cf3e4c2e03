// Package dashboards proves dashboards and rules with Prometheus itself: its parser reads every expression, and every metric and
// label in one must exist in the catalogue; its server, which scrapes a made-up fleet of all that the catalogue lists, must answer
// every panel and find every selector of a rule. What it exports are the queries and selectors, for tests against the real thing.
package dashboards
