from .analyses import first_clusters as first_clusters
