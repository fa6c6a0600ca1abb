// hdfs-sys is all that is wanted.
