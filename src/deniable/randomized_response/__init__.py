"""RR-Independent, RR-Joint, RR-Clusters, RR-Adjustment, secure sum, their audit."""
